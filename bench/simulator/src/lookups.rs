//! Sequences of lookups.

use springbloom_workload::hash::mix;
use springbloom_workload::{FamilyMix, FamilyStream, KeySpace, Operation, StreamSettings, WorkloadError};

/// One lookup.
#[derive(Clone, Copy, Debug)]
pub struct Lookup {
    /// Number of the column family.
    pub family: usize,
    /// The key as a pseudo-random number. Keys have the order of their numbers.
    pub key: u64,
    /// Whether no table holds the key.
    pub is_absent: bool,
}

/// An endless sequence of lookups. Equal settings give equal sequences.
#[derive(Clone, Debug)]
pub struct Lookups {
    operations: FamilyStream,
    keys: Keys,
}

/// Where keys lie.
#[derive(Clone, Copy, Debug)]
enum Keys {
    Scattered,
    /// In the order of the records, absent ones among them.
    Ordered {
        records: u64,
    },
}

impl Keys {
    /// Each record has a present key and absent ones.
    fn key(self, number: u64, is_absent: bool) -> u64 {
        let random = mix(number << 1 | u64::from(is_absent));
        match self {
            Keys::Scattered => random,
            Keys::Ordered { records } => {
                let gap = u64::MAX / records;
                number % records * gap + random % gap
            }
        }
    }
}

impl Lookups {
    /// Lookups of families of `records` records each.
    pub fn of(stream: StreamSettings, mix: &FamilyMix, records: u64) -> Result<Self, WorkloadError> {
        let (space, keys) = if stream.distribution.needs_key_order() {
            (KeySpace::Ordered { records }, Keys::Ordered { records })
        } else {
            (KeySpace::Synthetic { records }, Keys::Scattered)
        };
        let operations = FamilyStream::new(stream, mix, &space)?;
        Ok(Self { operations, keys })
    }
}

impl Iterator for Lookups {
    type Item = Lookup;

    fn next(&mut self) -> Option<Lookup> {
        loop {
            let (family, operation) = self.operations.next_operation();
            let (record, is_absent) = match operation {
                Operation::Read(record) => (record, false),
                Operation::ReadAbsent(record) => (record, true),
                _ => continue,
            };
            return Some(Lookup { family, key: self.keys.key(record, is_absent), is_absent });
        }
    }
}
