//! Measured use of a segment in two bytes a count.
//!
//! A count is a float of nine bits and a wide exponent. What an addition loses would add up: a count of 1,000 could never grow by 1.
//! So sums are rounded up or down at random with the chances that make the mean right (as Morris counters do, "Counting large
//! numbers of events in small registers", CACM 21(10), 1978): a count is unbiased however many visits it takes in, and off by
//! at most 3% of itself (one standard deviation), which is less than chance makes of a thousand visits.

use fastrand::Rng;

use crate::plan::hotness::RESCALE_LOG2;
use crate::{Hotness, Outcome};

/// Bits of a count beside its exponent.
const DIGITS: u32 = 9;
/// Bits of an `f32` that a count has no place for.
const LOST: u32 = f32::MANTISSA_DIGITS - 1 - DIGITS;
/// The least count there is is about 2^-40: a visit of now weighs 1 at least, and all that is less than that says "never".
const LEAST_LOG2: i32 = -RESCALE_LOG2;
/// What the bits of a count and of the `f32` of the same value differ by.
const BIAS: u32 = ((f32::MAX_EXP - 1 + LEAST_LOG2) as u32) << DIGITS;

/// A weighted count: 0, or from 2^-40 to 2^87, beyond which it stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SmallCount(u16);

impl SmallCount {
    /// `roll`: evenly spread bits, [`LOST`] of them are used.
    fn round(value: f32, roll: u32) -> Self {
        let rounded = (value.max(0.0).to_bits() + roll % (1 << LOST)) >> LOST;
        Self(rounded.saturating_sub(BIAS).min(u16::MAX.into()) as u16)
    }

    fn get(self) -> f32 {
        match self.0 {
            0 => 0.0,
            bits => f32::from_bits((u32::from(bits) + BIAS) << LOST),
        }
    }
}

/// [`Hotness`] of a segment, and the weighted rejections that its last allocated unit alone made.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    access_count: SmallCount,
    negatives: SmallCount,
    wasted_reads: SmallCount,
    marginal_rejections: SmallCount,
}

impl Counts {
    pub(crate) fn hotness(&self) -> Hotness {
        Hotness {
            access_count: self.access_count.get(),
            negatives: self.negatives.get(),
            wasted_reads: self.wasted_reads.get(),
        }
    }

    pub(crate) fn access_count(&self) -> f32 {
        self.access_count.get()
    }

    pub(crate) fn negatives(&self) -> f32 {
        self.negatives.get()
    }

    pub(crate) fn wasted_reads(&self) -> f32 {
        self.wasted_reads.get()
    }

    pub(crate) fn marginal_rejections(&self) -> f32 {
        self.marginal_rejections.get()
    }

    /// All counts of a visit are rounded by one roll, so that what grew alike stays alike.
    pub(crate) fn record(&mut self, outcome: Outcome, weight: f32, rng: &mut Rng) {
        let roll = rng.u32(..);
        let add = |count: &mut SmallCount| *count = SmallCount::round(count.get() + weight, roll);
        add(&mut self.access_count);
        if outcome.is_negative() {
            add(&mut self.negatives);
        }
        match outcome {
            Outcome::WastedRead => add(&mut self.wasted_reads),
            Outcome::RejectedByLast => add(&mut self.marginal_rejections),
            Outcome::Rejected | Outcome::TruePositive | Outcome::KnownAbsent => (),
        }
    }

    pub(crate) fn set_hotness(&mut self, hotness: Hotness, rng: &mut Rng) {
        let roll = rng.u32(..);
        self.access_count = SmallCount::round(hotness.access_count, roll);
        self.negatives = SmallCount::round(hotness.negatives, roll);
        self.wasted_reads = SmallCount::round(hotness.wasted_reads, roll);
    }

    pub(crate) fn set_wasted_reads(&mut self, wasted_reads: f32, rng: &mut Rng) {
        self.wasted_reads = SmallCount::round(wasted_reads, rng.u32(..));
    }

    pub(crate) fn set_marginal_rejections(&mut self, marginal_rejections: f32, rng: &mut Rng) {
        self.marginal_rejections = SmallCount::round(marginal_rejections, rng.u32(..));
    }

    /// All counts times a power of two, which is exact.
    pub(crate) fn scale(&mut self, factor: f32) {
        let all = [
            &mut self.access_count,
            &mut self.negatives,
            &mut self.wasted_reads,
            &mut self.marginal_rejections,
        ];
        all.into_iter().for_each(|count| *count = SmallCount::round(count.get() * factor, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_numbers_are_kept() {
        for value in [0.0, 1.0, 3.0, 511.0, 2f32.powi(40), 1.5 * 2f32.powi(-40), 2f32.powi(80)] {
            assert_eq!(SmallCount::round(value, u32::MAX).get(), value);
        }
        assert_eq!(SmallCount::round(2f32.powi(-60), u32::MAX).get(), 0.0);
        assert!(SmallCount::round(f32::MAX, u32::MAX).get() > 2f32.powi(87));
        assert_eq!(SmallCount::round(-1.0, 0).get(), 0.0);
    }

    #[test]
    fn sums_of_small_steps_are_unbiased() {
        let (runs, visits) = (400, 20_000u32);
        let mut rng = Rng::with_seed(0);
        let sums: Vec<f64> = (0..runs)
            .map(|_| {
                let mut count = SmallCount::default();
                (0..visits).for_each(|_| count = SmallCount::round(count.get() + 1.0, rng.u32(..)));
                f64::from(count.get()) / f64::from(visits)
            })
            .collect();
        let mean = sums.iter().sum::<f64>() / f64::from(runs);
        let deviation = (sums.iter().map(|sum| (sum - 1.0).powi(2)).sum::<f64>() / f64::from(runs)).sqrt();
        assert!(deviation < 0.035, "{deviation}");
        // Six standard errors of the mean.
        assert!((mean - 1.0).abs() < 6.0 * deviation / f64::from(runs).sqrt(), "{mean} +- {deviation}");
    }

    #[test]
    fn outcomes_count_where_they_teach() {
        let (mut counts, mut rng) = (Counts::default(), Rng::with_seed(0));
        let all = [Outcome::Rejected, Outcome::WastedRead, Outcome::TruePositive, Outcome::RejectedByLast];
        all.into_iter().for_each(|outcome| counts.record(outcome, 1.0, &mut rng));
        assert_eq!(counts.hotness(), Hotness { access_count: 4.0, negatives: 3.0, wasted_reads: 1.0 });
        assert_eq!(counts.marginal_rejections(), 1.0);
    }

    #[test]
    fn scaling_back_is_exact() {
        let mut counts = Counts::default();
        let mut rng = Rng::with_seed(0);
        let hotness =
            Hotness { access_count: 2f32.powi(45), negatives: 1.25 * 2f32.powi(44), wasted_reads: 8.0 };
        counts.set_hotness(hotness, &mut rng);
        counts.scale(2f32.powi(-RESCALE_LOG2));
        let mut expected = hotness;
        expected.scale(2f32.powi(-RESCALE_LOG2));
        assert_eq!(counts.hotness(), expected);
    }
}
