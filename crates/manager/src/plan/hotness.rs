//! Measured use of a segment, fading exponentially with logical time.
//!
//! Time is the number of recorded visits (the papers' `currentTime`). A sampled visit weighs as much as the visits that it stands for, but
//! is one step of time, so a half-life always holds the same number of samples. Old counts do not fade at each tick. New visits weigh more
//! instead (forward decay), as only ratios matter. Once in [`RESCALE_LOG2`] half-lives, everything is scaled down by a power of two.

/// Weights stay below 2^this: far from overflow in `f32`, and rescaling is rare.
const RESCALE_LOG2: i32 = 40;

/// Weighted visits of lookups to one segment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hotness {
    /// All visits: the papers' access frequency `f`.
    pub access_count: f32,
    /// Visits for keys that the segment does not hold. Only these can a filter reject.
    pub negatives: f32,
    /// Of the negatives, those that wasted a read, or would have with the units that are allocated now.
    pub wasted_reads: f32,
}

impl Hotness {
    pub(crate) fn scale(&mut self, factor: f32) {
        self.access_count *= factor;
        self.negatives *= factor;
        self.wasted_reads *= factor;
    }
}

/// The weight of a visit made now.
#[derive(Clone, Debug)]
pub(crate) struct Decay {
    /// Of a visit made now.
    pub(crate) weight: f64,
    growth: f64,
    /// Weighted visits to all segments.
    pub(super) total: f64,
}

impl Decay {
    pub(crate) fn new(half_life: u64) -> Self {
        let mut decay = Self { weight: 1.0, growth: 1.0, total: 0.0 };
        decay.set_half_life(half_life);
        decay
    }

    /// From now on, use loses half its weight in `half_life` visits.
    ///
    /// Not inlined: the compiler would also compute it of the bytes of a half-life that is not there, which valgrind reports.
    #[inline(never)]
    pub(crate) fn set_half_life(&mut self, half_life: u64) {
        self.growth = (std::f64::consts::LN_2 / half_life.max(1) as f64).exp();
    }

    /// Records one visit that stands for `count`. Returns their weight.
    pub(crate) fn tick(&mut self, count: u32) -> f32 {
        self.weight *= self.growth;
        let weight = self.weight * f64::from(count);
        self.total += weight;
        weight as f32
    }

    /// The factor by which all measured use must be scaled, when that is due.
    pub(crate) fn rescale(&mut self) -> Option<f32> {
        let factor = (-f64::from(RESCALE_LOG2)).exp2();
        (self.weight * factor >= 1.0).then(|| {
            self.weight *= factor;
            self.total *= factor;
            factor as f32
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn use_halves_in_a_half_life_whatever_is_rescaled_between() {
        let mut decay = Decay::new(100);
        let mut old = Hotness::default();
        old.negatives += decay.tick(1);
        for _ in 0..(100 * (RESCALE_LOG2 as usize + 3)) {
            decay.tick(1);
            if let Some(factor) = decay.rescale() {
                old.scale(factor);
            }
        }
        let left = f64::from(old.negatives) / decay.weight;
        let expected = (-f64::from(RESCALE_LOG2 + 3)).exp2();
        assert!((left / expected - 1.0).abs() < 1e-3, "{left} instead of {expected}");
    }
}
