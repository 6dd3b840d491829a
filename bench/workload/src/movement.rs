//! Changes of the popular records while a workload runs.

use std::fmt;
use std::str::FromStr;

use crate::error::WorkloadError;
use crate::permutation::mix64;

/// Changes of the popular records while a workload runs. Periods are counted in operations of all parallel streams together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Movement {
    /// No change.
    #[default]
    Still,
    /// All popular records change at once, once per period.
    Jump {
        /// The period.
        period_ops: u64,
    },
    /// Each popular record changes at its own time, once per period.
    Drift {
        /// The period.
        period_ops: u64,
    },
}

impl Movement {
    /// The time in which every popular record moves once.
    pub(crate) fn period_ops(self) -> Option<u64> {
        match self {
            Movement::Still => None,
            Movement::Jump { period_ops } | Movement::Drift { period_ops } => Some(period_ops),
        }
    }

    /// Number of the scattering that `rank` has after `operations`.
    pub(crate) fn epoch(self, rank: u64, operations: u64) -> u64 {
        match self {
            Movement::Still => 0,
            Movement::Jump { period_ops } => operations / period_ops,
            Movement::Drift { period_ops } => (operations + mix64(rank) % period_ops) / period_ops,
        }
    }
}

impl FromStr for Movement {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, WorkloadError> {
        let unknown = || {
            WorkloadError(format!(
                "unknown movement {text:?}: expected none, jump:LOOKUPS or drift:LOOKUPS, with at least 1"
            ))
        };
        if text == "none" {
            return Ok(Movement::Still);
        }
        let (name, period) = text.split_once(':').ok_or_else(unknown)?;
        let period_ops = period.parse().ok().filter(|&period_ops| period_ops > 0).ok_or_else(unknown)?;
        match name {
            "jump" => Ok(Movement::Jump { period_ops }),
            "drift" => Ok(Movement::Drift { period_ops }),
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for Movement {
    /// The form that [`FromStr`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Movement::Still => f.write_str("none"),
            Movement::Jump { period_ops } => write!(f, "jump:{period_ops}"),
            Movement::Drift { period_ops } => write!(f, "drift:{period_ops}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_forms() {
        for text in ["none", "jump:250000", "drift:1"] {
            assert_eq!(text.parse::<Movement>().expect(text).to_string(), text);
        }
        for text in ["", "jump", "jump:", "jump:0", "jump:-1", "jump:many", "walk:5", "none:5"] {
            assert!(text.parse::<Movement>().is_err(), "{text}");
        }
    }
}
