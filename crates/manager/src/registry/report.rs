//! What the registry tells of itself.

use std::collections::BTreeMap;
use std::time::Instant;

use super::lately::Lately;
use super::residency::Residency;
use crate::budget::MemoryKind;
use crate::lookup::Lookups;
use crate::memory::group_bytes;
use crate::names::{ScopeId, TableId};
use crate::plan::{ScopeCounts, SegmentDemand};
use crate::stats::{LevelUnits, ScopeStats, Stats, UsedBytes};

/// What happened in some scopes, and lately in all.
#[derive(Clone, Copy, Debug)]
pub struct Activity {
    /// In those scopes, as far as they have tables.
    pub counts: ScopeCounts,
    /// How visits of all scopes ended lately.
    pub lately: Lately,
}

/// What is told of scopes when their tables are forgotten.
#[derive(Clone, Debug)]
pub struct ForgottenScopes {
    /// Their tables.
    pub tables: Vec<TableId>,
    /// Whether [`take_visited`](crate::Manager::take_visited) would have given one of them.
    pub is_visited: bool,
    /// The last of it.
    pub activity: Activity,
}

/// What is asked of the segments. In visits made now.
pub(crate) struct Demand {
    pub segments: Vec<SegmentDemand>,
    pub visits: f64,
    pub wasted_reads: f64,
}

/// Measured use of all segments. O(segments).
pub(super) fn demand(residency: &Residency) -> Demand {
    let allocation = residency.planner.allocation();
    let segments = Vec::with_capacity(allocation.segment_count());
    let mut demand = Demand { segments, visits: 0.0, wasted_reads: 0.0 };
    let now = 1.0 / allocation.decay.weight;
    for (_, state) in allocation.segments().iter() {
        let hotness = state.hotness();
        demand.visits += f64::from(hotness.access_count) * now;
        demand.wasted_reads += f64::from(hotness.wasted_reads) * now;
        let negatives = f64::from(hotness.negatives) * now;
        demand.segments.push(SegmentDemand { shape: state.shape, units_max: state.units_max(), negatives });
    }
    demand
}

/// A reading of all counters but those of the thread. O(segments).
pub(super) fn stats(residency: &Residency, lookups: &Lookups) -> Stats {
    let Residency { planner, tables, loads, memory, counters, .. } = residency;
    let visits = &lookups.visits;
    let budget = memory.budget.snapshot();
    let used = |kind| memory.budget.used_bytes_of(kind);
    let scopes = scopes(residency);
    let levels = in_all_scopes(&scopes);
    let (tables_without_room, unreadable_tables) = loads.waiting.counts(Instant::now());
    let resident_bytes = levels.iter().map(|level| level.unit_bytes).sum();
    Stats {
        budget_bytes: budget.budget_bytes,
        used_bytes: budget.used_bytes,
        peak_bytes: memory.budget.peak_bytes(),
        used: UsedBytes {
            units: resident_bytes,
            bookkeeping: used(MemoryKind::Bookkeeping),
            buffers: used(MemoryKind::Buffers),
            loading: used(MemoryKind::Loading),
            indexes: used(MemoryKind::Indexes),
            garbage: used(MemoryKind::Units).saturating_sub(resident_bytes),
        },
        tables: tables.iter().count(),
        closed_tables: tables.iter().filter(|(_, table)| table.shared.is_closed()).count(),
        refused_tables: counters.refused_tables,
        failing_tables: loads.failing.count(tables) + unreadable_tables,
        tables_without_room,
        segments: planner.allocation().segment_count(),
        resident_indexes: levels.iter().map(|level| level.indexes).sum(),
        levels,
        scopes,
        loads: counters.loads,
        load_bytes: counters.load_bytes,
        load_reads: counters.load_reads,
        evictions: counters.evictions,
        corrupt_units: counters.corrupt_units,
        failed_reads: counters.failed_reads,
        thread_panics: 0,
        dropped_visits: visits.dropped_visits(),
        unpaid_bytes: visits.unpaid_bytes(),
        sampled_one_in: visits.sample_weight(),
        outcomes: visits.totals(),
        expected_wasted_reads_per_visit: planner.allocation().expected_wasted_reads_per_visit(),
    }
}

fn scopes(residency: &Residency) -> Vec<ScopeStats> {
    let allocation = residency.planner.allocation();
    let mut levels: BTreeMap<(ScopeId, u16), LevelUnits> = BTreeMap::new();
    let mut tables: BTreeMap<ScopeId, usize> = BTreeMap::new();
    for (slot, table) in residency.tables.iter() {
        let Some(run) = allocation.run(slot) else { continue };
        *tables.entry(run.scope).or_default() += 1;
        let level = levels.entry((run.scope, place_of(run.level))).or_default();
        level.level = run.level;
        if let Some(index) = table.shared.index().filter(|index| index.is_loaded()) {
            level.indexes += 1;
            level.index_bytes += index.bytes();
        }
        for (state, cell) in allocation.table(slot).iter().zip(table.shared.cells()) {
            let resident = cell.resident_units();
            let units = usize::from(resident);
            if level.segments.len() <= units {
                level.segments.resize(units + 1, 0);
            }
            level.segments[units] += 1;
            level.keys += u64::from(state.shape.key_count());
            level.unit_bytes += group_bytes(state.shape, resident);
        }
    }
    let counts = allocation.runs.scope_counts();
    let mut scopes: Vec<_> = tables
        .into_iter()
        .map(|(scope, tables)| {
            let counts = counts.get(&scope).copied().unwrap_or_default();
            ScopeStats { scope, tables, levels: Vec::new(), counts }
        })
        .collect();
    for ((scope, _), level) in levels {
        if let Ok(at) = scopes.binary_search_by_key(&scope, |stats| stats.scope) {
            scopes[at].levels.push(level);
        }
    }
    scopes
}

/// Unknown levels last.
fn place_of(level: Option<u8>) -> u16 {
    level.map_or(u16::MAX, u16::from)
}

fn in_all_scopes(scopes: &[ScopeStats]) -> Vec<LevelUnits> {
    let mut levels: BTreeMap<u16, LevelUnits> = BTreeMap::new();
    for level in scopes.iter().flat_map(|scope| &scope.levels) {
        let sum = levels.entry(place_of(level.level)).or_default();
        sum.level = level.level;
        sum.add(level);
    }
    levels.into_values().collect()
}
