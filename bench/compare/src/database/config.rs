//! The configurations that are compared, by name: `none`, `bloom:BITS`, `ribbon:BITS`, `partitioned:BITS`, `monkey-bloom:BITS`,
//! `monkey-ribbon:BITS`, `elastic:BITS`. `BITS` is the average number of bits per key.

use std::fmt;
use std::str::FromStr;

/// One way to filter lookups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Config {
    /// No filter.
    None,
    /// Stock Bloom filters, all in memory.
    Bloom { bits: f64 },
    /// Stock Ribbon filters of this size, all in memory.
    Ribbon { bits: f64 },
    /// Stock partitioned Bloom filters in a cache that is as large as the budget.
    Partitioned { bits: f64 },
    /// Stock Bloom filters with bits by level as Monkey (SIGMOD'17) allots them, all in memory.
    MonkeyBloom { bits: f64 },
    /// Stock Ribbon filters with bits by level as Monkey would allot them, all in memory.
    MonkeyRibbon { bits: f64 },
    /// Springbloom with a budget of this many bits per key, bookkeeping included.
    Elastic { bits: f64 },
}

const EXPECTED: &str =
    "none, bloom:BITS, ribbon:BITS, partitioned:BITS, monkey-bloom:BITS, monkey-ribbon:BITS or elastic:BITS";
/// More than any filter here can use.
const MAX_BITS: f64 = 100.0;

impl FromStr for Config {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Config::None);
        }
        let (name, bits) =
            text.split_once(':').ok_or_else(|| format!("expected {EXPECTED}; got {text:?}"))?;
        let bits: f64 = bits
            .parse()
            .map_err(|_| format!("expected a number of bits per key after {name:?}, got {bits:?}"))?;
        if !(bits > 0.0 && bits <= MAX_BITS) {
            return Err(format!("expected more than 0 and at most {MAX_BITS} bits per key, got {bits}"));
        }
        match name {
            "bloom" => Ok(Config::Bloom { bits }),
            "ribbon" => Ok(Config::Ribbon { bits }),
            "partitioned" => Ok(Config::Partitioned { bits }),
            "monkey-bloom" => Ok(Config::MonkeyBloom { bits }),
            "monkey-ribbon" => Ok(Config::MonkeyRibbon { bits }),
            "elastic" => Ok(Config::Elastic { bits }),
            _ => Err(format!("expected {EXPECTED}; got {text:?}")),
        }
    }
}

impl fmt::Display for Config {
    /// The form that [`FromStr`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Config::None => f.write_str("none"),
            Config::Bloom { bits } => write!(f, "bloom:{bits}"),
            Config::Ribbon { bits } => write!(f, "ribbon:{bits}"),
            Config::Partitioned { bits } => write!(f, "partitioned:{bits}"),
            Config::MonkeyBloom { bits } => write!(f, "monkey-bloom:{bits}"),
            Config::MonkeyRibbon { bits } => write!(f, "monkey-ribbon:{bits}"),
            Config::Elastic { bits } => write!(f, "elastic:{bits}"),
        }
    }
}

impl Config {
    /// Whether a budget bounds its filters in memory.
    pub(crate) fn is_capped(&self) -> bool {
        matches!(self, Config::Partitioned { .. } | Config::Elastic { .. })
    }

    /// The budget in bits per key, if it has one of its own.
    pub(crate) fn elastic_bits(&self) -> Option<f64> {
        match self {
            Config::Elastic { bits } => Some(*bits),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for text in [
            "none",
            "bloom:4",
            "ribbon:4.2",
            "partitioned:10",
            "monkey-bloom:4",
            "monkey-ribbon:4",
            "elastic:0.5",
        ] {
            assert_eq!(text.parse::<Config>().expect(text).to_string(), text);
        }
    }

    #[test]
    fn wrong_names_are_refused_with_the_right_ones() {
        for text in [
            "",
            "bloom",
            "bloom:",
            "bloom:x",
            "bloom:0",
            "bloom:-4",
            "bloom:NaN",
            "bloom:101",
            "cuckoo:8",
            "none:4",
        ] {
            let error = text.parse::<Config>().expect_err(text);
            assert!(error.contains("expected"), "{text}: {error}");
        }
    }
}
