//! Static allocation by runs: all segments of a run get the same number of units, except in the one run where the budget ends,
//! in which an even share of the segments gets one more.
//!
//! Greedy by fall of fpr per byte over (run, next unit), which is optimal as each further unit of a run is worth less than
//! the one before. Recomputed when tables come or go or the ceiling moves, in O(segments); carried out by [`rebalance`],
//! a bounded number of segments at a time, evictions first.
//!
//! [`rebalance`]: Policy::rebalance

use std::collections::HashMap;

use super::{CHANGES_MAX, Policy};
use crate::ScopeId;
use crate::SegmentRef;
use crate::memory::group_bytes;
use crate::plan::Run;
use crate::plan::allocation::{Allocation, SegmentState};
use crate::visits::Visit;

/// Names a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct RunKey(u64, u64);

impl RunKey {
    pub(super) const ALL: RunKey = RunKey(0, 0);

    pub(super) fn table(table: u32) -> Self {
        RunKey(u64::from(table), 1)
    }

    pub(super) fn level(scope: ScopeId, level: u8) -> Self {
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

/// What a run's next unit would do.
struct RunStep {
    fpr_fall: f64,
    bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Evict(SegmentRef),
    Admit(SegmentRef),
}

/// Visits between two looks at segments that have fewer units than they should.
const RETRY_TICKS: u64 = 1 << 16;
/// Tables of a run whose rates stand for the run's.
const SAMPLED_TABLES: usize = 16;
/// Segments that one call of `rebalance` looks at.
const VISITS_MAX: usize = 16 * CHANGES_MAX;

/// The common part of the policies `uniform` and `monkey`.
pub(super) struct SortedRuns {
    run_of: fn(u32, Run) -> RunKey,
    runs: HashMap<RunKey, RunUnits>,
    planned_for_bytes: usize,
    stale: bool,
    phase: Phase,
}

impl SortedRuns {
    pub(super) fn new(run_of: fn(u32, Run) -> RunKey) -> Self {
        Self { run_of, runs: HashMap::new(), planned_for_bytes: 0, stale: false, phase: Phase::Idle }
    }

    fn run_of(&self, table: u32, allocation: &Allocation) -> Option<RunKey> {
        Some((self.run_of)(table, allocation.runs().of(table)?))
    }

    fn wanted_units(&self, segment: SegmentRef, allocation: &Allocation) -> u8 {
        let run = self.run_of(segment.table, allocation).and_then(|key| self.runs.get(&key));
        let RunUnits { units, one_more_below } = run.copied().unwrap_or_default();
        let one_more = u8::from(u16::from(segment.spread()) < one_more_below);
        (units + one_more).min(allocation.segments()[segment].units_max())
    }

    /// What the next unit of a run does; `None` if all its segments have all their units. The fall of fpr is that of a few
    /// segments: rates hardly differ inside a run, and the exact rate is costly.
    fn step(&self, tables: &[u32], units: u8, allocation: &Allocation) -> Option<RunStep> {
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
        Some(RunStep { fpr_fall: sum / count.max(1) as f64, bytes })
    }

    fn plan(&mut self, allocation: &Allocation) {
        let mut tables_of: HashMap<RunKey, Vec<u32>> = HashMap::new();
        for table in 0..allocation.segments().table_places() {
            if let Some(key) = self.run_of(table, allocation) {
                tables_of.entry(key).or_default().push(table);
            }
        }
        let mut steps: Vec<(RunKey, Option<RunStep>)> =
            tables_of.iter().map(|(&key, tables)| (key, self.step(tables, 0, allocation))).collect();
        steps.sort_by_key(|&(key, _)| key); // equal worth: the same choice on every machine
        self.runs.clear();
        let mut left = allocation.unit_budget_bytes();
        loop {
            let worth =
                |step: &Option<RunStep>| step.as_ref().map(|step| step.fpr_fall / step.bytes.max(1) as f64);
            let best = steps.iter_mut().filter(|(_, step)| step.is_some());
            let Some((key, step)) = best.max_by(|(_, a), (_, b)| worth(a).partial_cmp(&worth(b)).unwrap())
            else {
                break;
            };
            let run = self.runs.entry(*key).or_default();
            let bytes = step.as_ref().map_or(0, |step| step.bytes);
            if bytes > left {
                run.one_more_below = self::one_more_below(&tables_of[key], run.units, left, allocation);
                break;
            }
            left -= bytes;
            run.units += 1;
            let units = run.units;
            *step = self.step(&tables_of[key], units, allocation);
        }
        self.planned_for_bytes = allocation.unit_budget_bytes();
        self.stale = false;
        self.phase = Phase::Evict(SegmentRef::FIRST);
    }

    /// Brings segments from `from` on to what they should have, in one direction; where to go on, if not at the end.
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
            if allocation.changed_count() >= CHANGES_MAX - usize::from(u8::MAX) {
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
        // What its run has already; the plan that takes it into account follows.
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
