//! Policies by name.

use std::fmt;
use std::str::FromStr;

use crate::error::ManagerError;

/// The policies there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PolicyKind {
    /// The same number of units for every segment.
    Uniform,
    /// The same number of units for every segment of a sorted run, chosen by the runs' sizes (Monkey, SIGMOD'17).
    Monkey,
    /// ElasticBF's expiring Multi-Queue (ATC'19 sections 3.3 and 3.4).
    MultiQueue,
    /// Units ranked by the wasted reads they were observed to stop or would have stopped, per byte.
    #[default]
    Benefit,
}

impl PolicyKind {
    /// All of them.
    pub const ALL: [PolicyKind; 4] = [Self::Uniform, Self::Monkey, Self::MultiQueue, Self::Benefit];

    /// The name that [`FromStr`] reads.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Monkey => "monkey",
            Self::MultiQueue => "multi-queue",
            Self::Benefit => "benefit",
        }
    }
}

impl fmt::Display for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for PolicyKind {
    type Err = ManagerError;

    fn from_str(name: &str) -> Result<Self, ManagerError> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| ManagerError::UnknownPolicy {
            got: name.to_owned(),
            expected: Self::ALL.map(Self::name).join(", "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_strangers_are_told_what_there_is() {
        for kind in PolicyKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        let error = "lru".parse::<PolicyKind>().unwrap_err();
        assert!(error.to_string().contains("\"lru\"") && error.to_string().contains("multi-queue"));
    }
}
