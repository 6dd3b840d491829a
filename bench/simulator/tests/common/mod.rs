//! Lookups of one family.

use springbloom_simulator::Lookups;
use springbloom_workload::{AbsentKeys, Distribution, FamilyMix, Mix, Movement, StreamSettings};

/// Popularity of keys and its changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Popularity {
    pub(crate) distribution: Distribution,
    pub(crate) movement: Movement,
    /// Only inserts matter here.
    pub(crate) mix: Mix,
}

impl Popularity {
    /// Only gets, with a fixed hot set.
    pub(crate) const fn still(distribution: Distribution) -> Self {
        Self::moving(distribution, Movement::Still)
    }

    /// Only gets, with a moving hot set.
    pub(crate) const fn moving(distribution: Distribution, movement: Movement) -> Self {
        Self { distribution, movement, mix: Mix::GET }
    }
}

/// Lookups of `records` records, half of them of absent keys. `hot_key_seed` selects the popular records.
pub(crate) fn lookups(popularity: Popularity, records: u64, hot_key_seed: u64) -> Lookups {
    let Popularity { distribution, movement, mix } = popularity;
    let absent = AbsentKeys::Popular;
    let stream = StreamSettings {
        mix,
        distribution,
        movement,
        absent,
        ..StreamSettings::gets(0.0, 0.5, hot_key_seed, hot_key_seed)
    };
    let mix = FamilyMix { traffic: vec![1.0], absent: vec![stream.absent_share] };
    Lookups::of(stream, &mix, records).expect("sound settings")
}
