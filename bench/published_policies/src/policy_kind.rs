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

/// No policy has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPolicy(String);

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
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| UnknownPolicy(name.to_owned()))
    }
}

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expected = PolicyKind::ALL.map(PolicyKind::name).join(", ");
        write!(f, "got {:?}, expected one of {expected}", self.0)
    }
}

impl std::error::Error for UnknownPolicy {}

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
