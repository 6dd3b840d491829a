//! What the best allocation of units lets pass, by their bytes, from measured use and analytic rates.
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
    /// Visits for absent keys.
    pub negatives: f64,
}

/// What the best allocation lets pass, by bytes of units.
#[derive(Clone, Debug)]
pub(crate) struct UnitCurve {
    /// Bytes ascend, negatives that pass fall; the first corner is without any unit.
    corners: Vec<(f64, f64)>,
    /// Bytes of the largest unit.
    pub(crate) unit_bytes_max: usize,
}

impl UnitCurve {
    pub(crate) fn of(segments: impl IntoIterator<Item = SegmentDemand>) -> Self {
        let mut classes: BTreeMap<i32, (f64, f64)> = BTreeMap::new();
        let mut passing = 0.0;
        let mut unit_bytes_max = 0;
        for segment in segments {
            passing += segment.negatives;
            unit_bytes_max = unit_bytes_max.max(segment.shape.unit_bytes());
            for (bytes, saved) in steps(&segment) {
                let class = ((saved / bytes).log2() * CLASSES_PER_OCTAVE).round() as i32;
                let sum = classes.entry(class).or_default();
                *sum = (sum.0 + bytes, sum.1 + saved);
            }
        }
        let mut corners = vec![(0.0, passing)];
        let mut used = 0.0;
        for (bytes, saved) in classes.into_values().rev() {
            used += bytes;
            passing = f64::max(passing - saved, 0.0);
            corners.push((used, passing));
        }
        Self { corners, unit_bytes_max }
    }

    /// Bytes of units at the corners, ascending from 0.
    pub(crate) fn corner_bytes(&self) -> impl Iterator<Item = f64> {
        self.corners.iter().map(|corner| corner.0)
    }

    /// Negatives that pass this many bytes of units: straight between corners, level beyond the last one.
    pub(crate) fn passing(&self, unit_bytes: f64) -> f64 {
        let behind = self.corners.partition_point(|corner| corner.0 <= unit_bytes).max(1);
        let before = self.corners[behind - 1];
        let Some(after) = self.corners.get(behind) else { return before.1 };
        let share = ((unit_bytes - before.0) / (after.0 - before.0)).max(0.0);
        before.1 + share * (after.1 - before.1)
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
        let all: f64 = demands.iter().map(|demand| demand.negatives).sum();
        let curve = UnitCurve::of(demands.iter().copied());
        assert_eq!(curve.passing(0.0), all);
        let &(last_bytes, last) = curve.corners.last().unwrap();
        for share in [0.05, 0.1, 0.3, 0.5, 0.9] {
            let bytes = last_bytes * share;
            let (got, expected) = (curve.passing(bytes), greedy(&demands, bytes as usize));
            // The greedy one cannot use the last bytes that no whole unit fits in; the curve is straight there.
            assert!((got / expected - 1.0).abs() < 0.03, "{share}: {got} where greedy has {expected}");
        }
        assert_eq!(curve.passing(f64::MAX), last);
        assert!(curve.corners.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1));
    }

    #[test]
    fn nothing_known_is_a_level_curve() {
        let idle = SegmentDemand { shape: shape(100), units_max: 6, negatives: 0.0 };
        for segments in [vec![], vec![idle; 3]] {
            let curve = UnitCurve::of(segments);
            assert_eq!(curve.corners, [(0.0, 0.0)]);
            assert_eq!((curve.passing(0.0), curve.passing(1e9)), (0.0, 0.0));
        }
    }
}
