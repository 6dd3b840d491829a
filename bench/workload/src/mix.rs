//! Shares of operations; the core workloads of YCSB.

use std::fmt;
use std::str::FromStr;

use crate::distribution::Distribution;
use crate::error::WorkloadError;

/// Shares of operations. Shares sum to 1; the rest are reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    /// None of a mix that is given by its shares.
    name: Option<&'static str>,
    pub(crate) update: f64,
    pub(crate) insert: f64,
    pub(crate) scan: f64,
    pub(crate) read_modify_write: f64,
    pub(crate) seek: f64,
    pub(crate) seek_type: f64,
}

/// Kinds of operations as [`Mix::of_shares`] names them.
const KINDS: [&str; 7] = ["read", "update", "insert", "scan", "rmw", "seek", "seek-type"];
/// Shares are decimal fractions, whose sum is rounded.
const ROUNDING: f64 = 1e-6;

/// YCSB's constant for all Zipf distributions.
const YCSB_EXPONENT: f64 = 0.99;

impl Mix {
    /// Only gets.
    pub const GET: Mix = Mix {
        name: Some("get"),
        update: 0.0,
        insert: 0.0,
        scan: 0.0,
        read_modify_write: 0.0,
        seek: 0.0,
        seek_type: 0.0,
    };
    /// Session store: half updates.
    pub const A: Mix = Mix { name: Some("a"), update: 0.5, ..Mix::GET };
    /// Photo tags: 5% updates.
    pub const B: Mix = Mix { name: Some("b"), update: 0.05, ..Mix::GET };
    /// User profiles: only reads.
    pub const C: Mix = Mix { name: Some("c"), ..Mix::GET };
    /// Status updates: 5% inserts, reads of the latest.
    pub const D: Mix = Mix { name: Some("d"), insert: 0.05, ..Mix::GET };
    /// Threaded conversations: short scans, 5% inserts.
    pub const E: Mix = Mix { name: Some("e"), insert: 0.05, scan: 0.95, ..Mix::GET };
    /// User database: half read-modify-writes.
    pub const F: Mix = Mix { name: Some("f"), read_modify_write: 0.5, ..Mix::GET };

    /// All mixes.
    pub const ALL: [Mix; 7] = [Mix::GET, Mix::A, Mix::B, Mix::C, Mix::D, Mix::E, Mix::F];

    /// The mix with these shares, such as `read=.9,update=.1`. The kinds are read, update, insert, scan, rmw
    /// (read-modify-write), and seek and seek-type, which ask for the edges of a source ([`Edges`](crate::KeySpace::Edges)).
    ///
    /// # Errors
    /// Another form, an unknown kind or one given twice, and shares whose sum is not 1.
    pub fn of_shares(text: &str) -> Result<Self, WorkloadError> {
        let bad = || {
            WorkloadError(format!(
                "{text:?}: expected shares that sum to 1, of read, update, insert, scan and rmw, such as read=.9,update=.1"
            ))
        };
        let mut shares = [None; KINDS.len()];
        for part in text.split(',') {
            let (kind, share) = part.split_once('=').ok_or_else(bad)?;
            let kind = KINDS.iter().position(|known| *known == kind).ok_or_else(bad)?;
            let share: f64 = share.parse().map_err(|_| bad())?;
            if !(0.0..=1.0).contains(&share) || shares[kind].replace(share).is_some() {
                return Err(bad());
            }
        }
        let shares = shares.map(|share| share.unwrap_or(0.0));
        if (shares.iter().sum::<f64>() - 1.0).abs() > ROUNDING {
            return Err(bad());
        }
        let [_, update, insert, scan, read_modify_write, seek, seek_type] = shares;
        Ok(Mix { name: None, update, insert, scan, read_modify_write, seek, seek_type })
    }

    /// Whether it has reads, which are lookups of one key.
    pub fn reads(&self) -> bool {
        self.read() > ROUNDING
    }

    fn read(&self) -> f64 {
        let Mix { update, insert, scan, read_modify_write, seek, seek_type, .. } = *self;
        1.0 - update - insert - scan - read_modify_write - seek - seek_type
    }

    /// Whether it seeks prefixes, which keys that are [`Edges`](crate::KeySpace::Edges) have.
    pub fn seeks(&self) -> bool {
        self.seek + self.seek_type > 0.0
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
            .find(|mix| mix.name.is_some_and(|name| name.eq_ignore_ascii_case(text)))
            .ok_or_else(|| {
                let expected = "expected get, or one of the letters a to f of YCSB";
                WorkloadError(format!("unknown workload {text:?}: {expected}"))
            })
    }
}

impl fmt::Display for Mix {
    /// The form that [`FromStr`] reads, or [`Mix::of_shares`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.name {
            return f.write_str(name);
        }
        let Mix { update, insert, scan, read_modify_write, seek, seek_type, .. } = *self;
        // As many digits as count.
        let rounded = |share: f64| (share / ROUNDING).round() / (1.0 / ROUNDING).round();
        let shares =
            KINDS.into_iter().zip([self.read(), update, insert, scan, read_modify_write, seek, seek_type]);
        let given: Vec<_> = shares
            .map(|(kind, share)| (kind, rounded(share)))
            .filter(|(_, share)| *share > 0.0)
            .map(|(kind, share)| format!("{kind}={share}"))
            .collect();
        f.write_str(&given.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_find_their_mixes() {
        for mix in Mix::ALL {
            assert_eq!(mix.to_string().parse::<Mix>().expect("name"), mix);
        }
        assert_eq!("A".parse::<Mix>().expect("capital"), Mix::A);
        assert!("g".parse::<Mix>().is_err());
    }

    #[test]
    fn shares_are_read_as_they_are_written() {
        for text in [
            "read=0.9,update=0.1",
            "scan=1",
            "read=0.2,insert=0.3,scan=0.5",
            "update=0.7,rmw=0.3",
            "seek=0.5,seek-type=0.5",
        ] {
            let mix = Mix::of_shares(text).expect(text);
            assert_eq!(mix.to_string(), text);
            assert_eq!((mix.reads(), mix.seeks()), (text.contains("read"), text.contains("seek")));
        }
        let mix = Mix::of_shares("update=.1,read=.9").expect("in any order");
        assert!(mix.writes() && !mix.inserts() && mix.update == 0.1);
        for text in [
            "",
            "a",
            "read",
            "read=",
            "read=x",
            "read=NaN",
            "read=0.5",
            "read=1,scan=0.1",
            "read=-1,scan=2",
            "read=0.5,read=0.5",
            "delete=1",
        ] {
            let error = Mix::of_shares(text).expect_err(text).to_string();
            assert!(error.contains("expected shares that sum to 1"), "{error}");
        }
    }

    #[test]
    fn which_mixes_write() {
        let writing: Vec<_> = Mix::ALL.iter().filter(|mix| mix.writes()).map(|mix| mix.to_string()).collect();
        assert_eq!(writing, ["a", "b", "d", "e", "f"]);
        let inserting: Vec<_> =
            Mix::ALL.iter().filter(|mix| mix.inserts()).map(|mix| mix.to_string()).collect();
        assert_eq!(inserting, ["d", "e"]);
    }
}
