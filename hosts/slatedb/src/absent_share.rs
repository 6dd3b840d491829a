//! Which of the reads that a segment's units let pass were wasted, where nobody says (`reads.rs`): what the units reject tells how many
//! lookups are for absent keys, and so how many of these pass.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use springbloom_manager::Outcome;

/// Visits that the share remembers.
const MEMORY: f32 = 64.0;
/// Without units nothing is learnt. In about this many visits a segment that was used for present keys is tried again.
const FORGETTING: f32 = 1024.0;
/// Bounds, so that a share that was wrong can recover.
const LEAST: f32 = 0.02;
const MOST: f32 = 1.0 - 1.0 / 4096.0;

/// The share of lookups of a segment that are for keys which it does not hold, and wasted reads that are not told yet. Threads that race
/// lose a visit.
pub(crate) struct AbsentShare(AtomicU64);

impl Default for AbsentShare {
    fn default() -> Self {
        Self(AtomicU64::new(pack(MOST, 0.5)))
    }
}

fn pack(share: f32, untold: f32) -> u64 {
    u64::from(share.to_bits()) << 32 | u64::from(untold.to_bits())
}

/// Of the absent keys, those that `units` units of one bit per key let pass.
fn passing(units: u8) -> f32 {
    (-f32::from(units)).exp2()
}

impl AbsentShare {
    fn load(&self) -> (f32, f32) {
        let packed = self.0.load(Relaxed);
        (f32::from_bits((packed >> 32) as u32), f32::from_bits(packed as u32))
    }

    fn store(&self, share: f32, untold: f32) {
        self.0.store(pack(share.clamp(LEAST, MOST), untold), Relaxed);
    }

    /// A lookup ended, and told whether the segment holds its key.
    pub(crate) fn told(&self, is_absent: bool) {
        let (share, untold) = self.load();
        let told = if is_absent { 1.0 } else { 0.0 };
        self.store(share + (told - share) / MEMORY, untold);
    }

    /// This many units rejected a key. It stands for those that passed as well.
    pub(crate) fn rejected(&self, units: u8) {
        let (share, untold) = self.load();
        self.store(share + (1.0 / (1.0 - passing(units)) - share) / MEMORY, untold);
    }

    /// This many units let a key pass. Gives what to tell of the read: over many, as many are told to be wasted as are expected to be.
    pub(crate) fn passed(&self, units: u8) -> Outcome {
        let (share, mut untold) = self.load();
        let passing = passing(units);
        untold += share * passing / (share * passing + 1.0 - share);
        let is_wasted = untold >= 1.0;
        if is_wasted {
            untold -= 1.0;
        }
        self.store(
            if units == 0 { share + (1.0 - share) / FORGETTING } else { share - share / MEMORY },
            untold,
        );
        if is_wasted { Outcome::WastedRead } else { Outcome::TruePositive }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::SmallRng};

    use super::*;

    /// Reads told to be wasted and those that were, of lookups of which this share is for absent keys.
    fn told_and_wasted(share: &AbsentShare, absent: f64, units: u8, visits: u32) -> (f64, f64) {
        let mut random = SmallRng::seed_from_u64(7);
        let (mut told, mut wasted) = (0.0, 0.0);
        for _ in 0..visits {
            let is_absent = random.random_bool(absent);
            if is_absent && units > 0 && random.random_bool(1.0 - f64::from(passing(units))) {
                share.rejected(units);
            } else {
                wasted += f64::from(is_absent);
                told += f64::from(share.passed(units) == Outcome::WastedRead);
            }
        }
        (told, wasted)
    }

    #[test]
    fn as_many_reads_are_told_to_be_wasted_as_are() {
        for (absent, units) in [(0.9, 1), (0.5, 1), (0.5, 4), (0.1, 2), (0.99, 6)] {
            let (told, wasted) = told_and_wasted(&AbsentShare::default(), absent, units, 400_000);
            let ratio = told / wasted;
            assert!((0.8..1.25).contains(&ratio), "{absent} absent, {units} units: {told} of {wasted}");
        }
    }

    #[test]
    fn a_segment_without_units_is_hopeful_at_first_and_remembers_what_units_told() {
        let share = AbsentShare::default();
        assert!(told_and_wasted(&share, 1.0, 0, 1000).0 > 990.0);
        let (told, _) = told_and_wasted(&share, 0.0, 3, 4000);
        assert!(told < 200.0, "present keys: {told}");
        let (told, _) = told_and_wasted(&share, 0.0, 0, 200);
        assert!(told < 50.0, "present keys, without units: {told}");
        assert!(told_and_wasted(&share, 1.0, 0, 8000).0 > 6000.0, "tried again");
    }
}
