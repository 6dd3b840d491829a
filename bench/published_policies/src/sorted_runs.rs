//! Static allocation by runs: all segments of a run get the same number of units. In the one run where the budget ends, an even share of
//! the segments gets one more.
//!
//! Greedy over (run, next unit) by the fall of the false-positive rate per byte. This is optimal, because each further unit of a run is
//! worth less than the one before. Computed again when tables come or go or the budget changes, in O(segments + runs log runs), and carried
//! out by [`rebalance`], a bounded number of segments at a time, evictions first.
//!
//! [`rebalance`]: Policy::rebalance

use std::collections::{BinaryHeap, HashMap};

use springbloom_manager::{Allocation, Policy, Run, ScopeId, SegmentRef, SegmentState, Visit, group_bytes};

use crate::CHANGES_MAX;

/// Keys of a table to a factor of 2^(1/4), by those of its first segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SizeClass(u32);

impl SizeClass {
    fn of(segments: &[SegmentState]) -> Self {
        let keys_of_first = segments.first().map_or(0, |state| u64::from(state.shape.key_count()));
        let keys = (keys_of_first * segments.len() as u64).max(1);
        Self(4 * keys.ilog2() + ((keys << 2 >> keys.ilog2()) & 3) as u32)
    }
}

/// A run, or a class of runs that are planned alike. So there are few, however many tables overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RunKey(u64, u64);

impl RunKey {
    pub(crate) const ALL: RunKey = RunKey(0, 0);

    /// All tables of about one size that are a run each: a unit is worth the same to each of them.
    pub(crate) fn tables_of(size: SizeClass) -> Self {
        RunKey(u64::from(size.0), 1)
    }

    /// Runs of this class, and their tables.
    fn runs(self, tables: usize) -> usize {
        if self.1 == 1 { tables } else { 1 }
    }

    pub(crate) fn level(scope: ScopeId, level: u8) -> Self {
        RunKey(scope.0, 2 + u64::from(level))
    }
}

/// Units of a run's segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RunUnits {
    units: u8,
    /// Segments whose spread is below this get one more.
    one_more_below: u16,
}

/// The next unit of a run. Those that are worth more are greater; of equal worth, the choice is the same on every machine.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct NextUnit {
    /// The fall of the false-positive rate per byte, as bits: of numbers that are not negative, the greater one has the greater bits.
    worth: u64,
    key: RunKey,
    bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Evict(SegmentRef),
    Admit(SegmentRef),
}

/// Visits between two searches for segments that have fewer units than planned.
const RETRY_TICKS: u64 = 1 << 16;
/// Tables of a run whose rates stand for the run's.
const SAMPLED_TABLES: usize = 16;
/// Segments that one call of `rebalance` looks at.
const VISITS_MAX: usize = 16 * CHANGES_MAX;

/// The common part of the policies `uniform` and `monkey`.
pub(crate) struct SortedRuns {
    run_of: fn(Run, SizeClass) -> RunKey,
    runs: HashMap<RunKey, RunUnits>,
    planned_for_bytes: usize,
    stale: bool,
    phase: Phase,
}

impl SortedRuns {
    pub(crate) fn new(run_of: fn(Run, SizeClass) -> RunKey) -> Self {
        Self { run_of, runs: HashMap::new(), planned_for_bytes: 0, stale: false, phase: Phase::Idle }
    }

    fn run_of(&self, table: u32, allocation: &Allocation) -> Option<RunKey> {
        let run = allocation.run(table)?;
        Some((self.run_of)(run, SizeClass::of(allocation.segments().table(table))))
    }

    fn wanted_units(&self, segment: SegmentRef, allocation: &Allocation) -> u8 {
        let run = self.run_of(segment.table, allocation).and_then(|key| self.runs.get(&key));
        let RunUnits { units, one_more_below } = run.copied().unwrap_or_default();
        let one_more = u8::from(u16::from(segment.spread()) < one_more_below);
        (units + one_more).min(allocation.segments()[segment].units_max())
    }

    /// What the next unit of a run is worth; `None` if all its segments have all their units. The fall of fpr is that of a few
    /// segments: rates hardly differ inside a run, and the exact rate is costly.
    fn next(key: RunKey, tables: &[u32], units: u8, allocation: &Allocation) -> Option<NextUnit> {
        let segments = tables.iter().flat_map(|&table| allocation.segments().table(table));
        // A small unit may fit the allocator's rounding of those before it.
        let bytes = segments.filter_map(|state| next_bytes(state, units)).reduce(|sum, bytes| sum + bytes)?;
        let sampled = tables.iter().step_by(tables.len().div_ceil(SAMPLED_TABLES));
        let falls = sampled.filter_map(|&table| {
            let segments = allocation.segments().table(table);
            let state = segments.get(segments.len() / 2)?;
            Some(state.shape.false_positive_rate(units) - state.shape.false_positive_rate(units + 1))
        });
        let (sum, count) = falls.fold((0.0, 0usize), |(sum, count), fall| (sum + fall, count + 1));
        let fpr_fall = sum / count.max(1) as f64 * key.runs(tables.len()) as f64;
        Some(NextUnit { worth: (fpr_fall / bytes.max(1) as f64).to_bits(), key, bytes })
    }

    fn plan(&mut self, allocation: &Allocation) {
        let mut tables_of: HashMap<RunKey, Vec<u32>> = HashMap::new();
        for table in 0..allocation.segments().table_places() {
            if let Some(key) = self.run_of(table, allocation) {
                tables_of.entry(key).or_default().push(table);
            }
        }
        let next = |key, units| Self::next(key, &tables_of[&key], units, allocation);
        let mut steps: BinaryHeap<_> = tables_of.keys().filter_map(|&key| next(key, 0)).collect();
        let mut runs: HashMap<RunKey, RunUnits> = HashMap::new();
        let mut left = allocation.unit_budget_bytes();
        while let Some(NextUnit { key, bytes, .. }) = steps.pop() {
            let run = runs.entry(key).or_default();
            if bytes > left {
                run.one_more_below = self::one_more_below(&tables_of[&key], run.units, left, allocation);
                break;
            }
            left -= bytes;
            run.units += 1;
            steps.extend(next(key, run.units));
        }
        self.runs = runs;
        self.planned_for_bytes = allocation.unit_budget_bytes();
        self.stale = false;
        self.phase = Phase::Evict(SegmentRef::FIRST);
    }

    /// Brings segments from `from` on to their planned units, by admissions or by evictions. Returns where to continue, if not at the end.
    fn apply_plan(&self, from: SegmentRef, admit: bool, allocation: &mut Allocation) -> Option<SegmentRef> {
        let SegmentRef { mut table, mut segment } = from;
        for _ in 0..VISITS_MAX {
            while segment as usize >= allocation.segments().table(table).len() {
                (table, segment) = (table + 1, 0);
                if table >= allocation.segments().table_places() {
                    return None;
                }
            }
            let here = SegmentRef { table, segment };
            let wanted = self.wanted_units(here, allocation);
            while !admit && allocation.segments()[here].units() > wanted {
                allocation.evict(here);
            }
            while admit && allocation.segments()[here].units() < wanted && allocation.admit(here) {}
            if allocation.changed().len() >= CHANGES_MAX - usize::from(u8::MAX) {
                return Some(here);
            }
            segment += 1;
        }
        Some(SegmentRef { table, segment })
    }
}

/// Bytes that unit `units` takes on top of those before it; `None` if there is no such unit.
fn next_bytes(state: &SegmentState, units: u8) -> Option<usize> {
    (units < state.units_max()).then(|| group_bytes(state.shape, units + 1) - group_bytes(state.shape, units))
}

/// The bound on the spread below which one more unit for the segments of a run takes at most `bytes`.
fn one_more_below(tables: &[u32], units: u8, bytes: usize, allocation: &Allocation) -> u16 {
    let mut bytes_by_spread = [0usize; 256];
    for &table in tables {
        for (segment, state) in allocation.segments().table(table).iter().enumerate() {
            let spread = SegmentRef { table, segment: segment as u32 }.spread();
            bytes_by_spread[usize::from(spread)] += next_bytes(state, units).unwrap_or(0);
        }
    }
    let mut left = bytes;
    let fits = bytes_by_spread.iter().take_while(|&&bytes| {
        let fits = bytes <= left;
        left = left.saturating_sub(bytes);
        fits
    });
    fits.count() as u16
}

impl Policy for SortedRuns {
    fn add_table(&mut self, _table: u32, _allocation: &mut Allocation) {
        self.stale = true;
    }

    fn place(&mut self, segment: SegmentRef, allocation: &mut Allocation) {
        // As many units as its run has already. The next plan takes the new table into account.
        while allocation.segments()[segment].units() < self.wanted_units(segment, allocation).max(1)
            && allocation.admit(segment)
        {}
    }

    fn remove_table(&mut self, _table: u32, _allocation: &Allocation) {
        self.stale = true;
    }

    fn on_visit(&mut self, _visit: Visit, allocation: &mut Allocation) {
        // Reads that failed are tried again after a while.
        if self.phase == Phase::Idle && allocation.ticks().is_multiple_of(RETRY_TICKS) {
            self.phase = Phase::Admit(SegmentRef::FIRST);
        }
    }

    fn on_units_changed(&mut self, _segment: SegmentRef, _allocation: &Allocation) {
        self.stale = true;
    }

    fn on_level_changed(&mut self) {
        self.stale = true;
    }

    fn evict_one(&mut self, allocation: &mut Allocation) -> bool {
        let most = allocation.segments().iter().max_by_key(|(_, state)| state.units());
        let most = most.map(|(segment, _)| segment);
        most.is_some_and(|segment| allocation.evict(segment))
    }

    fn changes_max(&self) -> usize {
        CHANGES_MAX
    }

    fn rebalance(&mut self, allocation: &mut Allocation) -> bool {
        if self.stale || self.planned_for_bytes != allocation.unit_budget_bytes() {
            self.plan(allocation);
        }
        self.phase = match self.phase {
            Phase::Idle => return false,
            Phase::Evict(from) => {
                self.apply_plan(from, false, allocation).map_or(Phase::Admit(SegmentRef::FIRST), Phase::Evict)
            }
            Phase::Admit(from) => self.apply_plan(from, true, allocation).map_or(Phase::Idle, Phase::Admit),
        };
        true
    }
}

#[cfg(test)]
mod tests {
    use springbloom_filter::{KeyDigest, UnitSettings};
    use springbloom_manager::{Hotness, ManagerSettings, Planner};

    use super::*;
    use crate::monkey;

    #[test]
    fn tables_that_overlap_are_planned_by_their_size_and_not_one_by_one() {
        let shape = |keys: u32| {
            let digests: Vec<_> = (0..keys).map(|n| KeyDigest::of(&n.to_le_bytes())).collect();
            UnitSettings::ribbon(16).unwrap().build(&digests).shape
        };
        let (small, large) = (shape(64), shape(1024));
        let mut planner = Planner::new(&ManagerSettings::default(), 250 * group_bytes(large, 3));
        for table in 0..1000 {
            let shape = if table % 4 == 0 { large } else { small };
            planner.add_table(table, ScopeId(1), None, &[(shape, Hotness::default())]);
        }
        let mut policy = monkey::new();
        policy.plan(planner.allocation());
        assert_eq!(policy.runs.len(), 2, "{:?}", policy.runs);
        // A unit of a small table saves as much for less: they have more.
        let units = |table| policy.wanted_units(SegmentRef { table, segment: 0 }, planner.allocation());
        assert!(units(1) > units(0) + 1, "{} units for small tables, {} for large ones", units(1), units(0));
    }
}
