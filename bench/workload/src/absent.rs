//! The absent keys that a workload reads.

use std::fmt;
use std::str::FromStr;

use crate::error::WorkloadError;

/// The absent keys that zero-result lookups read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AbsentKeys {
    /// Their popularity has the same distribution as that of present keys, so hot ones are read again and again. They are
    /// scattered independently, so they are not neighbours of hot present keys.
    #[default]
    Popular,
    /// Each absent key is read once and never again, as by upserts and deduplication.
    Fresh,
}

impl FromStr for AbsentKeys {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, WorkloadError> {
        match text {
            "popular" => Ok(AbsentKeys::Popular),
            "fresh" => Ok(AbsentKeys::Fresh),
            _ => Err(WorkloadError(format!("unknown absent keys {text:?}: expected popular or fresh"))),
        }
    }
}

impl fmt::Display for AbsentKeys {
    /// The form that [`FromStr`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AbsentKeys::Popular => "popular",
            AbsentKeys::Fresh => "fresh",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_forms() {
        for text in ["popular", "fresh"] {
            assert_eq!(text.parse::<AbsentKeys>().expect(text).to_string(), text);
        }
        assert!("".parse::<AbsentKeys>().is_err() && "Fresh".parse::<AbsentKeys>().is_err());
    }
}
