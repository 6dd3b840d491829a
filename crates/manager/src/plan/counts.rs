//! Measured use of a segment: fading counts of what its visits found.

use crate::plan::Hotness;
use crate::visits::Outcome;

/// [`Hotness`] of a segment, and the weighted rejections by its last unit alone: keys that all units before it let pass.
///
/// Sums of `f32` stop growing at about 2^24 visits within a half-life. A segment with that many is the hottest one anyway.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) hotness: Hotness,
    pub(super) marginal_rejections: f32,
}

/// More than any sum of visits, and far from overflow.
const COUNT_MAX: f32 = 1e30;

/// Values from a hotness file may be anything: negative ones and NaN become 0.
fn count(value: f32) -> f32 {
    if value > 0.0 { value.min(COUNT_MAX) } else { 0.0 }
}

impl Counts {
    pub(crate) fn new(hotness: Hotness) -> Self {
        let Hotness { access_count, negatives, wasted_reads } = hotness;
        let hotness = Hotness {
            access_count: count(access_count),
            negatives: count(negatives),
            wasted_reads: count(wasted_reads),
        };
        Self { hotness, marginal_rejections: 0.0 }
    }

    pub(crate) fn record(&mut self, outcome: Outcome, weight: f32) {
        self.hotness.access_count += weight;
        if outcome.is_negative() {
            self.hotness.negatives += weight;
        }
        match outcome {
            Outcome::WastedRead | Outcome::NotRead => self.hotness.wasted_reads += weight,
            Outcome::RejectedByLast => self.marginal_rejections += weight,
            Outcome::Rejected | Outcome::TruePositive => (),
        }
    }

    /// Adds assumed visits for absent keys (weighted). By the analytic rates, `wasted` of them waste a read and the last unit alone rejects
    /// `marginal`.
    pub(crate) fn assume(&mut self, negatives: f32, wasted: f32, marginal: f32) {
        self.hotness.access_count += negatives;
        self.hotness.negatives += negatives;
        self.hotness.wasted_reads += wasted;
        self.marginal_rejections += marginal;
    }

    pub(crate) fn set_wasted_reads(&mut self, wasted_reads: f32) {
        self.hotness.wasted_reads = count(wasted_reads);
    }

    pub(crate) fn scale(&mut self, factor: f32) {
        self.hotness.scale(factor);
        self.marginal_rejections *= factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_count_becomes_one() {
        let wrong = Hotness { access_count: f32::NAN, negatives: -1.0, wasted_reads: f32::INFINITY };
        let counts = Counts::new(wrong);
        let hotness = Hotness { access_count: 0.0, negatives: 0.0, wasted_reads: COUNT_MAX };
        assert_eq!(counts.hotness, hotness);
    }

    #[test]
    fn outcomes_count_where_they_teach() {
        let mut counts = Counts::default();
        let all = [
            Outcome::Rejected,
            Outcome::WastedRead,
            Outcome::TruePositive,
            Outcome::RejectedByLast,
            Outcome::NotRead,
        ];
        all.into_iter().for_each(|outcome| counts.record(outcome, 1.0));
        assert_eq!(counts.hotness, Hotness { access_count: 5.0, negatives: 4.0, wasted_reads: 2.0 });
        assert_eq!(counts.marginal_rejections, 1.0);
    }
}
