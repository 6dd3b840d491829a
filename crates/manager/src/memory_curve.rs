//! The filter memory curve: wasted reads to expect at any budget, from what was measured at one.
//!
//! A budget pays for bookkeeping, buffers that grow with it, and units. What the units let pass follows from the
//! [best allocation](crate::plan::UnitCurve) by the analytic rates; what was wasted in fact says by which power these are off.

use crate::plan::{SegmentDemand, UnitCurve};
use crate::registry::{HEADROOM_PARTS, Lately};
use crate::visits::pool_bytes;

/// Points to a factor of two of budget, in addition to the corners.
const POINTS_PER_OCTAVE: f64 = 8.0;
/// The analytic rates count as this many wasted reads.
const PRIOR_READS: f64 = 64.0;
/// Bounds of the power.
const POWERS: (f64, f64) = (0.5, 1.5);
/// For the buffer of a read, no more than one part in this many of what is not bookkeeping stays free.
const BUFFER_PARTS: u64 = 5;

/// What was measured of all segments together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeasuredUse {
    /// Visits of lookups, found keys included.
    pub visits: f64,
    /// Of them, those that wasted a read.
    pub wasted_reads: f64,
    /// The budget at that time.
    pub budget_bytes: u64,
    /// Of it, bookkeeping.
    pub bookkeeping_bytes: u64,
    /// What was measured of all tables together.
    pub lately: Lately,
}

impl MeasuredUse {
    /// Visits, and those that wasted a read: of all tables together where enough is known of these, because the counts of segments fade
    /// faster.
    fn best_known(&self) -> (f64, f64) {
        let Lately { visits, wasted_reads, .. } = self.lately;
        if wasted_reads >= PRIOR_READS { (visits, wasted_reads) } else { (self.visits, self.wasted_reads) }
    }
}

/// One point of a [`MemoryCurve`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Budget, everything but the units included.
    pub budget_bytes: u64,
    /// Wasted reads to expect per visit of a lookup to a segment.
    pub wasted_reads_per_visit: f64,
}

/// Wasted reads to expect at any budget.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryCurve {
    /// Budgets ascend, wasted reads fall; up to the first point nothing is filtered.
    points: Vec<CurvePoint>,
}

impl MemoryCurve {
    /// The curve of these segments. Nothing is wasted where nothing was visited.
    pub fn of(segments: impl IntoIterator<Item = SegmentDemand>, measured: &MeasuredUse) -> Self {
        let model = Model::new(UnitCurve::of(segments), measured);
        let mut points: Vec<CurvePoint> = Vec::new();
        for budget_bytes in model.budgets() {
            let wasted_reads_per_visit = model.wasted_reads_per_visit(budget_bytes);
            match points.last_mut() {
                // More memory never wastes more. A level stretch ends where the fall begins.
                Some(last) if wasted_reads_per_visit >= last.wasted_reads_per_visit => {
                    last.budget_bytes = budget_bytes;
                }
                _ => points.push(CurvePoint { budget_bytes, wasted_reads_per_visit }),
            }
        }
        Self { points }
    }

    /// The corners, ascending; between them the curve is straight, beyond the last one level.
    pub fn points(&self) -> &[CurvePoint] {
        &self.points
    }
    /// Wasted reads to expect per visit with this budget. A budget that does not even pay for the bookkeeping filters nothing.
    pub fn wasted_reads_per_visit(&self, budget_bytes: u64) -> f64 {
        let behind = self.points.partition_point(|point| point.budget_bytes <= budget_bytes);
        let (Some(before), Some(after)) = (self.points[..behind].last(), self.points.get(behind)) else {
            let level = if behind == 0 { self.points.first() } else { self.points.last() };
            return level.map_or(0.0, |point| point.wasted_reads_per_visit);
        };
        let share = (budget_bytes - before.budget_bytes) as f64
            / (after.budget_bytes - before.budget_bytes).max(1) as f64;
        before.wasted_reads_per_visit + share * (after.wasted_reads_per_visit - before.wasted_reads_per_visit)
    }

    /// The least budget that reaches `wasted_reads_per_visit`; `None` if all units together do not.
    pub fn budget_bytes_for(&self, wasted_reads_per_visit: f64) -> Option<u64> {
        let reached =
            self.points.iter().position(|point| point.wasted_reads_per_visit <= wasted_reads_per_visit)?;
        let after = self.points[reached];
        let Some(before) = reached.checked_sub(1).map(|before| self.points[before]) else {
            return Some(after.budget_bytes);
        };
        let fall = before.wasted_reads_per_visit - after.wasted_reads_per_visit;
        let share = (before.wasted_reads_per_visit - wasted_reads_per_visit) / fall;
        let bytes = share * (after.budget_bytes - before.budget_bytes) as f64;
        Some(before.budget_bytes + bytes.ceil() as u64)
    }
}

/// What a budget buys.
struct Model<'a> {
    units: UnitCurve,
    measured: &'a MeasuredUse,
    /// What passes is this power of the share that the analytic rates let pass: it falls faster, because the policy loads those units that
    /// reject the hot keys.
    power: f64,
}

impl<'a> Model<'a> {
    fn new(units: UnitCurve, measured: &'a MeasuredUse) -> Self {
        let mut model = Self { units, measured, power: 1.0 };
        let negatives = model.units.passing(0.0);
        let share = model.passing(measured.budget_bytes);
        if negatives > 0.0 && share > 0.0 && share < 1.0 {
            let (visits, wasted_reads) = measured.best_known();
            let by_rates = share * negatives * visits / measured.visits;
            let seen = (share * (PRIOR_READS + wasted_reads) / (PRIOR_READS + by_rates)).min(1.0);
            model.power = (seen.ln() / share.ln()).clamp(POWERS.0, POWERS.1);
        }
        model
    }

    fn other_bytes(&self, budget_bytes: u64) -> u64 {
        let bookkeeping_bytes = self.measured.bookkeeping_bytes;
        let left_bytes = budget_bytes.saturating_sub(bookkeeping_bytes);
        let buffer_bytes = (self.units.unit_bytes_max as u64).max(left_bytes / HEADROOM_PARTS as u64);
        let beside_bytes =
            pool_bytes(budget_bytes as usize) as u64 + buffer_bytes.min(left_bytes / BUFFER_PARTS);
        bookkeeping_bytes.saturating_add(beside_bytes)
    }

    /// Share of the negatives that passes the units.
    fn passing(&self, budget_bytes: u64) -> f64 {
        let negatives = self.units.passing(0.0);
        let Some(unit_bytes) = budget_bytes.checked_sub(self.other_bytes(budget_bytes)) else { return 1.0 };
        if negatives == 0.0 {
            return 0.0;
        }
        let by_rates = self.units.passing(unit_bytes as f64) / negatives;
        by_rates.powf(self.power).min(1.0)
    }

    fn wasted_reads_per_visit(&self, budget_bytes: u64) -> f64 {
        let (negatives, visits) = (self.units.passing(0.0), self.measured.visits);
        if visits <= 0.0 {
            return 0.0;
        }
        negatives / visits * self.passing(budget_bytes)
    }

    /// The least budget that leaves this many bytes for units.
    fn budget_for(&self, unit_bytes: f64) -> u64 {
        let is_enough = |budget: u64| budget.saturating_sub(self.other_bytes(budget)) as f64 >= unit_bytes;
        let (mut low, mut high) =
            (0, self.measured.bookkeeping_bytes.saturating_add(unit_bytes as u64).saturating_add(1));
        while !is_enough(high) && high < u64::MAX / 2 {
            (low, high) = (high, high * 2); // it is not 0
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if is_enough(middle) { high = middle } else { low = middle }
        }
        high
    }

    /// Budgets of the points, ascending.
    fn budgets(&self) -> Vec<u64> {
        let mut budgets = vec![self.measured.bookkeeping_bytes];
        budgets.extend(self.units.corner_bytes().map(|bytes| self.budget_for(bytes)));
        let least = self.budget_for(0.0);
        let most = budgets.last().copied().unwrap_or(least);
        budgets.extend([least.saturating_sub(1), least]);
        let steps = ((most as f64 / least.max(1) as f64).log2() * POINTS_PER_OCTAVE) as i32;
        budgets.extend(
            (1..steps).map(|step| (least as f64 * (f64::from(step) / POINTS_PER_OCTAVE).exp2()) as u64),
        );
        budgets.retain(|&budget| budget <= most);
        budgets.sort_unstable();
        budgets.dedup();
        budgets
    }
}

#[cfg(test)]
mod tests {
    use springbloom_filter::{GroupShape, KeyDigest, UnitSettings};

    use super::*;

    fn shape(keys: u32) -> GroupShape {
        let digests: Vec<_> = (0..keys).map(|n| KeyDigest::of(&n.to_le_bytes())).collect();
        UnitSettings::default().build(&digests).shape
    }

    fn demands() -> Vec<SegmentDemand> {
        let shape = shape(4000);
        (1..200)
            .map(|n| SegmentDemand { shape, units_max: shape.unit_count(), negatives: 1e5 / f64::from(n) })
            .collect()
    }

    /// Half of the visits are for absent keys.
    fn measured() -> MeasuredUse {
        let visits = 2.0 * demands().iter().map(|demand| demand.negatives).sum::<f64>();
        MeasuredUse {
            visits,
            wasted_reads: 0.03 * visits,
            budget_bytes: 400_000,
            bookkeeping_bytes: 10_000,
            lately: Lately { visits, wasted_reads: 0.03 * visits },
        }
    }

    #[test]
    fn more_memory_never_wastes_more_and_the_inverse_inverts() {
        let curve = MemoryCurve::of(demands(), &measured());
        assert!(curve.points().windows(2).all(|pair| pair[0].budget_bytes < pair[1].budget_bytes
            && pair[0].wasted_reads_per_visit > pair[1].wasted_reads_per_visit));
        for bytes in [20_000, 50_000, 100_000, 300_000] {
            let wasted = curve.wasted_reads_per_visit(bytes);
            let back = curve.budget_bytes_for(wasted).unwrap();
            assert!(back.abs_diff(bytes) <= 2, "{bytes} became {back}");
        }
        assert_eq!([0, 10_000].map(|budget| curve.wasted_reads_per_visit(budget)), [0.5; 2]);
        assert!(curve.budget_bytes_for(1e9).is_some_and(|bytes| bytes <= 12_000), "no unit is needed");
        let last = curve.points().last().unwrap();
        assert_eq!(curve.wasted_reads_per_visit(u64::MAX), last.wasted_reads_per_visit);
    }

    #[test]
    fn what_was_wasted_is_promised_where_it_was_measured() {
        let now = MemoryCurve::of(demands(), &measured()).wasted_reads_per_visit(400_000);
        assert!((now / 0.03 - 1.0).abs() < 0.02, "{now}");
    }

    #[test]
    fn nothing_known_is_a_level_curve() {
        let idle = SegmentDemand { shape: shape(100), units_max: 6, negatives: 0.0 };
        let absurd = MeasuredUse { bookkeeping_bytes: u64::MAX, budget_bytes: u64::MAX, ..measured() };
        for segments in [vec![], vec![idle; 3]] {
            for measured in [MeasuredUse::default(), absurd] {
                let curve = MemoryCurve::of(segments.clone(), &measured);
                assert_eq!(curve.points().len(), 1);
                assert_eq!(curve.wasted_reads_per_visit(1 << 30), 0.0);
            }
        }
    }
}
