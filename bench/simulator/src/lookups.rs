//! Sequences of lookups.

use springbloom_testkit::spread::mix;
use springbloom_workload::{
    AbsentKeys, Distribution, KeySpace, Mix, Movement, Operation, OperationStream, StreamSettings,
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
}

impl Popularity {
    /// Only gets, with a fixed hot set.
    pub const fn still(distribution: Distribution) -> Self {
        Self { distribution, movement: Movement::Still, mix: Mix::GET }
    }

    /// Only gets, with a moving hot set.
    pub const fn moving(distribution: Distribution, movement: Movement) -> Self {
        Self { distribution, movement, mix: Mix::GET }
    }
}

/// One lookup.
#[derive(Clone, Copy, Debug)]
pub struct Lookup {
    /// Record of the key.
    pub record: u64,
    /// Whether no table holds the key.
    pub is_absent: bool,
}

impl Lookup {
    /// The key as a pseudo-random number. Keys have the order of their numbers. Each record has a present and an absent key.
    pub fn key(&self) -> u64 {
        mix(self.record << 1 | u64::from(self.is_absent))
    }
}

/// An endless sequence of lookups, half of them of absent keys. Equal settings give equal sequences.
#[derive(Clone, Debug)]
pub struct Lookups(OperationStream);

impl Lookups {
    /// Lookups of `records` records. `salt` selects the popular records.
    ///
    /// # Panics If `popularity` is out of range.
    pub fn new(popularity: Popularity, records: u64, salt: u64) -> Self {
        let Popularity { distribution, movement, mix } = popularity;
        let settings = StreamSettings {
            mix,
            distribution,
            movement,
            zero_result_ratio: 0.5,
            absent: AbsentKeys::Popular,
            salt,
            seed: salt,
            stream: 0,
            streams: 1,
        };
        Self(OperationStream::new(settings, &KeySpace::Synthetic { records }).expect("sound settings"))
    }
}

impl Iterator for Lookups {
    type Item = Lookup;

    fn next(&mut self) -> Option<Lookup> {
        loop {
            match self.0.next_operation() {
                Operation::Read(record) => return Some(Lookup { record, is_absent: false }),
                Operation::ReadAbsent(record) => return Some(Lookup { record, is_absent: true }),
                _ => (),
            }
        }
    }
}
