//! Sequences of lookups.

use springbloom_workload::hash::mix;
use springbloom_workload::{
    AbsentKeys, Distribution, FamilyMix, FamilyStream, KeySpace, Mix, Movement, Operation, StreamSettings,
    WorkloadError,
};

/// Popularity of keys and its changes.
#[derive(Clone, Copy, Debug)]
pub struct Popularity {
    /// Distribution of lookups over records.
    pub distribution: Distribution,
    /// How the hot set moves.
    pub movement: Movement,
    /// Operations. Only inserts matter here.
    pub mix: Mix,
    /// Whether absent keys are popular, too, or never come back.
    pub absent: AbsentKeys,
}

impl Popularity {
    /// Only gets, with a fixed hot set.
    pub const fn still(distribution: Distribution) -> Self {
        Self::moving(distribution, Movement::Still)
    }

    /// Only gets, with a moving hot set.
    pub const fn moving(distribution: Distribution, movement: Movement) -> Self {
        Self { distribution, movement, mix: Mix::GET, absent: AbsentKeys::Popular }
    }
}

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

/// An endless sequence of lookups, half of them of absent keys unless the stream says otherwise. Equal settings give equal sequences.
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
    /// Lookups of `records` records. `salt` selects the popular records.
    ///
    /// # Panics If `popularity` is out of range.
    pub fn new(popularity: Popularity, records: u64, salt: u64) -> Self {
        let Popularity { distribution, movement, mix, absent } = popularity;
        let stream = StreamSettings {
            mix,
            distribution,
            movement,
            zero_result_ratio: 0.5,
            absent,
            salt,
            seed: salt,
            stream: 0,
            streams: 1,
        };
        let mix = FamilyMix { traffic: vec![1.0], absent: vec![stream.zero_result_ratio] };
        Self::of(stream, &mix, records).expect("sound settings")
    }

    /// Lookups of families of `records` records each.
    ///
    /// # Errors
    /// Settings that are out of range.
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
