//! What is looked up.

use springbloom_testkit::spread::mix;
use springbloom_workload::{
    Distribution, KeySpace, Mix, Movement, Operation, OperationStream, StreamSettings,
};

/// Which keys are popular, and how that changes.
#[derive(Clone, Copy, Debug)]
pub struct Popularity {
    /// How often each record is asked for.
    pub distribution: Distribution,
    /// How the hot set moves.
    pub movement: Movement,
    /// The records that are inserted meanwhile; other writes do not matter here.
    pub mix: Mix,
}

impl Popularity {
    /// Gets alone, and a hot set that stays.
    pub const fn still(distribution: Distribution) -> Self {
        Self { distribution, movement: Movement::Still, mix: Mix::GET }
    }

    /// Gets alone.
    pub const fn moving(distribution: Distribution, movement: Movement) -> Self {
        Self { distribution, movement, mix: Mix::GET }
    }
}

/// One lookup.
#[derive(Clone, Copy, Debug)]
pub struct Lookup {
    /// Record that the key belongs to.
    pub record: u64,
    /// Whether the key is in no table.
    pub is_absent: bool,
}

impl Lookup {
    /// The key as a number, which looks random. Keys are in the order of their numbers, and each record has its own two.
    pub fn key(&self) -> u64 {
        mix(self.record << 1 | u64::from(self.is_absent))
    }
}

/// An endless sequence of lookups, half of them for absent keys; the same for the same settings.
#[derive(Clone, Debug)]
pub struct Lookups(OperationStream);

impl Lookups {
    /// Lookups of `records` records; another `salt` makes other records popular.
    ///
    /// # Panics
    /// If `popularity` is out of its ranges.
    pub fn new(popularity: Popularity, records: u64, salt: u64) -> Self {
        let Popularity { distribution, movement, mix } = popularity;
        let settings = StreamSettings {
            mix,
            distribution,
            movement,
            zero_result_ratio: 0.5,
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
