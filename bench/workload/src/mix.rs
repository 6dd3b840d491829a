//! Shares of operations; the core workloads of YCSB.

use std::str::FromStr;

use crate::distribution::Distribution;
use crate::error::WorkloadError;

/// Shares of operations. Shares sum to 1; the rest are reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    name: &'static str,
    pub(crate) update: f64,
    pub(crate) insert: f64,
    pub(crate) scan: f64,
    pub(crate) read_modify_write: f64,
}

/// YCSB's constant for all Zipf distributions.
const YCSB_EXPONENT: f64 = 0.99;

impl Mix {
    /// Only gets.
    pub const GET: Mix = Mix { name: "get", update: 0.0, insert: 0.0, scan: 0.0, read_modify_write: 0.0 };
    /// Session store: half updates.
    pub const A: Mix = Mix { name: "a", update: 0.5, ..Mix::GET };
    /// Photo tags: 5% updates.
    pub const B: Mix = Mix { name: "b", update: 0.05, ..Mix::GET };
    /// User profiles: only reads.
    pub const C: Mix = Mix { name: "c", ..Mix::GET };
    /// Status updates: 5% inserts, reads of the latest.
    pub const D: Mix = Mix { name: "d", insert: 0.05, ..Mix::GET };
    /// Threaded conversations: short scans, 5% inserts.
    pub const E: Mix = Mix { name: "e", insert: 0.05, scan: 0.95, ..Mix::GET };
    /// User database: half read-modify-writes.
    pub const F: Mix = Mix { name: "f", read_modify_write: 0.5, ..Mix::GET };

    /// All mixes.
    pub const ALL: [Mix; 7] = [Mix::GET, Mix::A, Mix::B, Mix::C, Mix::D, Mix::E, Mix::F];

    /// The name that [`FromStr`] parses.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether it changes the store.
    pub fn writes(&self) -> bool {
        self.update + self.insert + self.read_modify_write > 0.0
    }

    /// Whether it adds records, for which the key space must be able to grow.
    pub fn inserts(&self) -> bool {
        self.insert > 0.0
    }

    /// The distribution that YCSB defines for it.
    pub fn default_distribution(&self) -> Distribution {
        if *self == Mix::D {
            Distribution::Latest { exponent: YCSB_EXPONENT }
        } else {
            Distribution::Zipf { exponent: YCSB_EXPONENT }
        }
    }
}

impl FromStr for Mix {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, WorkloadError> {
        Mix::ALL
            .into_iter()
            .find(|mix| mix.name.eq_ignore_ascii_case(text))
            .ok_or_else(|| WorkloadError::UnknownMix { got: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_find_their_mixes() {
        for mix in Mix::ALL {
            assert_eq!(mix.name().parse::<Mix>().expect("name"), mix);
        }
        assert_eq!("A".parse::<Mix>().expect("capital"), Mix::A);
        assert!("g".parse::<Mix>().is_err());
    }

    #[test]
    fn which_mixes_write() {
        let writing: Vec<_> = Mix::ALL.iter().filter(|mix| mix.writes()).map(Mix::name).collect();
        assert_eq!(writing, ["a", "b", "d", "e", "f"]);
        let inserting: Vec<_> = Mix::ALL.iter().filter(|mix| mix.inserts()).map(Mix::name).collect();
        assert_eq!(inserting, ["d", "e"]);
    }
}
