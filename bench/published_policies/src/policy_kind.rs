//! Policies by name.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use springbloom_manager::{Benefit, Manager, ManagerSettings, Policy};

use crate::{monkey, multi_queue::MultiQueue, uniform};

/// The policies there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PolicyKind {
    /// The same number of units for every segment.
    Uniform,
    /// The same number of units for every segment of a sorted run, chosen by the runs' sizes (Monkey, SIGMOD'17).
    Monkey,
    /// ElasticBF's expiring Multi-Queue (ATC'19 sections 3.3 and 3.4).
    MultiQueue,
    /// Springbloom's own.
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

    /// The policy. `lifetime` is for Multi-Queue: visits of other segments after which an unused segment expires; `None`: as many as there
    /// are segments, the paper's advice.
    pub fn policy(self, lifetime: Option<u64>) -> Box<dyn Policy> {
        match self {
            Self::Uniform => Box::new(uniform::new()),
            Self::Monkey => Box::new(monkey::new()),
            Self::MultiQueue => Box::new(MultiQueue::new(lifetime)),
            Self::Benefit => Box::new(Benefit::default()),
        }
    }

    /// A manager with the policy.
    pub fn manager(self, settings: ManagerSettings) -> Arc<Manager> {
        Manager::with_policy(settings, self.policy(None))
    }
}

impl fmt::Display for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for PolicyKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let expected = || format!("got {name:?}, expected one of {}", Self::ALL.map(Self::name).join(", "));
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(expected)
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
        assert!(error.contains("\"lru\"") && error.contains("multi-queue"));
    }
}
