//! Sizes in bytes as people write them: `4096`, `64KiB`, `2.5MiB`, `1G`. Multiples are of 1,024.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A number of bytes given on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Size {
    pub(crate) bytes: u64,
}

const MULTIPLES: [(&str, u64); 4] = [("", 1), ("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30)];

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || format!("expected a size such as 4096, 64KiB or 2.5MiB, got {text:?}");
        let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let number: f64 = text[..digits].parse().map_err(|_| unknown())?;
        let suffix = text[digits..].trim_start().to_ascii_uppercase();
        let multiple = suffix.strip_suffix("IB").or(suffix.strip_suffix('B')).unwrap_or(&suffix);
        let (_, factor) = MULTIPLES.iter().find(|(name, _)| *name == multiple).ok_or_else(unknown)?;
        let bytes = number * *factor as f64;
        // Beyond 2^53 a float cannot count bytes, and no budget is that large.
        if bytes.is_finite() && bytes < (1u64 << 53) as f64 {
            Ok(Size { bytes: bytes.round() as u64 })
        } else {
            Err(unknown())
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, factor) =
            MULTIPLES.iter().rev().find(|(_, factor)| self.bytes >= *factor).unwrap_or(&MULTIPLES[0]);
        match (*name, self.bytes % factor) {
            ("", _) => write!(f, "{} B", self.bytes),
            (name, 0) => write!(f, "{} {name}iB", self.bytes / factor),
            (name, _) => write!(f, "{:.2} {name}iB", self.bytes as f64 / *factor as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_people_write_them() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("4096B", 4096),
            ("64KiB", 65_536),
            ("64k", 65_536),
            ("2.5 MiB", 2_621_440),
            ("1G", 1 << 30),
        ] {
            assert_eq!(text.parse::<Size>().expect(text).bytes, bytes, "{text}");
        }
        for text in ["", "MiB", "-1", "1x", "1.2.3", "99999999999G", "1 i"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_shown_with_their_unit() {
        for (bytes, text) in [(512, "512 B"), (4096, "4 KiB"), (2_621_440, "2.50 MiB"), (1 << 30, "1 GiB")] {
            assert_eq!(Size { bytes }.to_string(), text);
        }
    }
}
