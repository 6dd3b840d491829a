//! The filter memory curve: wasted reads to expect at any budget, from measured use and analytic rates.
//!
//! The best allocation takes units in order of `negatives * (fpr_{n-1} - fpr_n)` per byte (ElasticBF, ATC'19 section 3.4, with
//! Monkey's argument that greedy is optimal where each further unit helps less). Where a further unit helps *more* per byte than the
//! one before (the first one pays for its owner), both count as one step. Steps are gathered in classes of like worth per
//! byte, [`CLASSES_PER_OCTAVE`] to a factor of two, instead of being sorted: O(segments x units), constant memory, and
//! at most about 1% of a class off where a budget ends inside it.

use std::collections::BTreeMap;

use springbloom_filter::GroupShape;

use crate::memory::group_bytes;

const CLASSES_PER_OCTAVE: f64 = 64.0;

/// What there is to gain in one segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SegmentDemand {
    /// What was built over it.
    pub shape: GroupShape,
    /// Units that can be had.
    pub units_max: u8,
    /// Visits for absent keys, in any unit that the whole curve shares.
    pub negatives: f64,
}

/// One point of a [`MemoryCurve`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Budget, everything beside the units included.
    pub budget_bytes: u64,
    /// Wasted reads to expect per visit of a lookup to a segment.
    pub wasted_reads_per_visit: f64,
}

/// Wasted reads to expect at any budget.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryCurve {
    /// Budgets ascend, wasted reads fall; the first point is without any unit.
    points: Vec<CurvePoint>,
}

impl MemoryCurve {
    /// The curve of these segments. `visits` are all visits of lookups to them, found keys included, in the unit of the
    /// negatives; `other_bytes` is what the budget pays for beside units. Nothing is wasted where nothing was visited.
    pub fn of(segments: impl IntoIterator<Item = SegmentDemand>, visits: f64, other_bytes: u64) -> Self {
        let mut classes: BTreeMap<i32, (f64, f64)> = BTreeMap::new();
        let mut wasted = 0.0;
        for segment in segments {
            wasted += segment.negatives;
            for (bytes, saved) in steps(&segment) {
                let class = ((saved / bytes).log2() * CLASSES_PER_OCTAVE).round() as i32;
                let sum = classes.entry(class).or_default();
                *sum = (sum.0 + bytes, sum.1 + saved);
            }
        }
        let per_visit = if visits > 0.0 { 1.0 / visits } else { 0.0 };
        let point = |bytes: f64, wasted: f64| CurvePoint {
            budget_bytes: other_bytes.saturating_add(bytes as u64),
            wasted_reads_per_visit: wasted.max(0.0) * per_visit,
        };
        let mut points = vec![point(0.0, wasted)];
        let mut used = 0.0;
        for (bytes, saved) in classes.into_values().rev() {
            used += bytes;
            wasted -= saved;
            points.push(point(used, wasted));
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

/// Bytes and saved reads of a segment's units, neighbours joined until each step is worth less per byte than the one before.
fn steps(segment: &SegmentDemand) -> Vec<(f64, f64)> {
    let mut steps: Vec<(f64, f64)> = Vec::new();
    let (mut rate, mut size) = (1.0, 0);
    for unit in 1..=segment.units_max.min(segment.shape.unit_count()) {
        let (next_rate, next_size) =
            (segment.shape.false_positive_rate(unit), group_bytes(segment.shape, unit));
        let mut step = ((next_size - size).max(1) as f64, segment.negatives * (rate - next_rate));
        if step.1 <= 0.0 {
            break;
        }
        while let Some(before) = steps.pop_if(|before| before.1 * step.0 <= step.1 * before.0) {
            step = (step.0 + before.0, step.1 + before.1);
        }
        steps.push(step);
        (rate, size) = (next_rate, next_size);
    }
    steps
}

#[cfg(test)]
mod tests {
    use springbloom_filter::{KeyDigest, UnitSettings};

    use super::*;

    fn shape(keys: u32) -> GroupShape {
        let digests: Vec<_> = (0..keys).map(|n| KeyDigest::of(&n.to_le_bytes())).collect();
        UnitSettings::bloom(6, 4).unwrap().build(&digests).shape
    }

    fn demands() -> Vec<SegmentDemand> {
        let shapes = [shape(4000), shape(300), shape(20)];
        let demand = |n: usize| {
            let negatives = 1e5 / (n + 1) as f64;
            SegmentDemand { shape: shapes[n % 3], units_max: 6, negatives }
        };
        (0..200).map(demand).collect()
    }

    /// Greedy by exhaustive search: the step of one or more units, of any segment, that saves most per byte.
    fn greedy(demands: &[SegmentDemand], budget_bytes: usize) -> f64 {
        let mut units = vec![0u8; demands.len()];
        let mut free = budget_bytes;
        let wasted =
            |demand: &SegmentDemand, units| demand.negatives * demand.shape.false_positive_rate(units);
        loop {
            let steps = demands.iter().enumerate().flat_map(|(at, demand)| {
                let has = units[at];
                (has + 1..=demand.units_max).map(move |to| {
                    let bytes = group_bytes(demand.shape, to) - group_bytes(demand.shape, has);
                    ((wasted(demand, has) - wasted(demand, to)) / bytes as f64, bytes, at, to)
                })
            });
            let best = steps.filter(|step| step.1 <= free).max_by(|a, b| a.0.total_cmp(&b.0));
            let Some((_, bytes, at, to)) = best else { break };
            free -= bytes;
            units[at] = to;
        }
        demands.iter().zip(units).map(|(demand, units)| wasted(demand, units)).sum()
    }

    #[test]
    fn the_curve_is_the_greedy_allocation() {
        let demands = demands();
        let visits: f64 = demands.iter().map(|demand| 2.0 * demand.negatives).sum();
        let curve = MemoryCurve::of(demands.iter().copied(), visits, 1000);
        assert_eq!(curve.points()[0], CurvePoint { budget_bytes: 1000, wasted_reads_per_visit: 0.5 });
        assert_eq!(curve.wasted_reads_per_visit(0), 0.5);
        let last = curve.points().last().unwrap();
        for share in [0.05, 0.1, 0.3, 0.5, 0.9] {
            let bytes = (last.budget_bytes as f64 * share) as u64;
            let (got, expected) =
                (curve.wasted_reads_per_visit(bytes + 1000), greedy(&demands, bytes as usize) / visits);
            // The greedy one cannot use the last bytes that no whole unit fits in; the curve is straight there.
            assert!((got / expected - 1.0).abs() < 0.03, "{share}: {got} where greedy has {expected}");
        }
        assert_eq!(curve.wasted_reads_per_visit(u64::MAX), last.wasted_reads_per_visit);
    }

    #[test]
    fn more_memory_never_wastes_more_and_the_inverse_inverts() {
        let demands = demands();
        let curve = MemoryCurve::of(demands, 1e6, 1000);
        assert!(curve.points().windows(2).all(|pair| pair[0].budget_bytes < pair[1].budget_bytes
            && pair[0].wasted_reads_per_visit > pair[1].wasted_reads_per_visit));
        for bytes in [1000, 5000, 50_000, 200_000] {
            let wasted = curve.wasted_reads_per_visit(bytes);
            let back = curve.budget_bytes_for(wasted).unwrap();
            assert!(back.abs_diff(bytes) <= 2, "{bytes} became {back}");
        }
        assert_eq!(curve.budget_bytes_for(1e9), Some(1000), "no unit is needed");
        assert_eq!(curve.budget_bytes_for(0.0), None, "filters err");
    }

    #[test]
    fn nothing_known_is_a_level_curve() {
        let idle = SegmentDemand { shape: shape(100), units_max: 6, negatives: 0.0 };
        for segments in [vec![], vec![idle; 3]] {
            let curve = MemoryCurve::of(segments, 0.0, 10);
            assert_eq!(curve.points().len(), 1);
            assert_eq!(curve.wasted_reads_per_visit(1 << 30), 0.0);
        }
    }
}
