//! The share of the false positives that a negative cache of another size would catch, where more or fewer keys pass the units.
//!
//! Which keys pass is chance, so those that pass are a fair sample of the keys that are asked for: where twice as many pass, the cache must
//! be twice as large to catch the same share. So one number tells what is caught: entries by keys that pass. It was measured at the size
//! that the cache has, at smaller ones, and is nothing at one entry; between these the share is straight in the logarithm of the number, as
//! it is for keys of Zipf's popularity.

use crate::registry::KnownAbsences;

/// Bytes of an entry.
const ENTRY_BYTES: f64 = 20.0;
/// Natural logarithm of what a smaller cache is smaller than the one before.
const STEP: f64 = 2.0 * std::f64::consts::LN_2;

/// Shares missed, by the logarithm of the cache's size as a part of what it is now.
pub(super) struct Missed {
    /// From the size that it has, down.
    known: Vec<(f64, f64)>,
}

impl Missed {
    pub(super) fn of(absences: &KnownAbsences) -> Self {
        let mut known = vec![(0.0, 1.0 - absences.caught)];
        let at_one_entry = -(absences.bytes as f64 / ENTRY_BYTES).max(2.0).ln();
        for (&caught, at) in absences.caught_by_smaller.iter().zip(1..) {
            let size = -STEP * f64::from(at);
            if caught > 0.0 && size > at_one_entry {
                known.push((size, 1.0 - caught));
            }
        }
        known.push((at_one_entry, 1.0));
        Self { known }
    }

    /// The share that a cache misses which has `size` times the entries by keys that pass.
    pub(super) fn share(&self, size: f64) -> f64 {
        let size = size.max(f64::MIN_POSITIVE).ln();
        let at = self.known.partition_point(|known| known.0 >= size);
        match (at.checked_sub(1).map(|before| self.known[before]), self.known.get(at)) {
            (Some(larger), Some(smaller)) => {
                let part = (size - smaller.0) / (larger.0 - smaller.0);
                smaller.1 + part * (larger.1 - smaller.1)
            }
            (Some(smallest), None) => smallest.1,
            // Nothing was measured of larger ones: each step saves the part that the last one did.
            (None, _) => {
                let (now, smaller) = (self.known[0], self.known[1]);
                if smaller.1 > 0.0 { now.1 * (now.1 / smaller.1).powf(size / -smaller.0) } else { 0.0 }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_caches_miss_less_and_smaller_ones_what_was_measured() {
        let absences = KnownAbsences { bytes: 2_000_000, caught: 0.6, caught_by_smaller: [0.5, 0.45, 0.0] };
        let missed = Missed::of(&absences);
        for (size, expected) in [(1.0, 0.4), (0.25, 0.5), (1.0 / 16.0, 0.55), (4.0, 0.32), (1e-9, 1.0)] {
            assert!((missed.share(size) - expected).abs() < 1e-9, "{size}: {}", missed.share(size));
        }
        // Half way, as logarithms go; what is not known lies on the way to one entry.
        assert!((missed.share(0.5) - 0.45).abs() < 1e-9);
        let shares = [4096.0f64, 64.0, 2.0, 0.5, 0.1, 0.03, 1e-3, 1e-5, 0.0].map(|size| missed.share(size));
        assert!(shares.is_sorted() && shares[0] > 0.0 && shares[8] == 1.0, "{shares:?}");
    }
}
