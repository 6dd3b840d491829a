//! What the registry tells of itself.

use std::collections::BTreeMap;
use std::time::Instant;

use super::Registry;
use super::lately::Lately;
use crate::budget::MemoryKind;
use crate::memory::group_bytes;
use crate::names::TableId;
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

impl Registry {
    /// Measured use of all segments. O(segments).
    pub(crate) fn demand(&self) -> Demand {
        let allocation = self.planner.allocation();
        let segments = Vec::with_capacity(allocation.segment_count());
        let mut demand = Demand { segments, visits: 0.0, wasted_reads: 0.0 };
        let now = 1.0 / allocation.decay.weight;
        for (_, state) in allocation.segments().iter() {
            let hotness = state.hotness();
            demand.visits += f64::from(hotness.access_count) * now;
            demand.wasted_reads += f64::from(hotness.wasted_reads) * now;
            let negatives = f64::from(hotness.negatives) * now;
            let (shape, units_max) = (state.shape, state.units_max());
            demand.segments.push(SegmentDemand { shape, units_max, negatives });
        }
        demand
    }

    /// A reading of all counters but those of the thread. O(segments).
    pub(crate) fn stats(&self) -> Stats {
        let Self { planner, tables, loads, memory, counters, .. } = self;
        let visits = &self.lookups.visits;
        let budget = memory.budget.snapshot();
        let used = |kind| memory.budget.used_bytes_of(kind);
        let scopes = self.scopes();
        let mut levels = Vec::new();
        for level in scopes.iter().flat_map(|scope| &scope.levels) {
            at_level(&mut levels, level.level).add(level);
        }
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
            failing_tables: loads.failing.count(tables) + unreadable_tables,
            tables_without_room,
            segments: planner.allocation().segment_count(),
            resident_indexes: levels.iter().map(|level| level.indexes).sum(),
            levels,
            scopes,
            dropped_visits: visits.dropped_visits(),
            unpaid_bytes: visits.unpaid_bytes(),
            sampled_one_in: visits.sample_weight(),
            outcomes: visits.totals(),
            expected_wasted_reads_per_visit: planner.allocation().expected_wasted_reads_per_visit(),
            ..counters.clone()
        }
    }

    fn scopes(&self) -> Vec<ScopeStats> {
        let allocation = self.planner.allocation();
        let counts = allocation.runs.scope_counts();
        let stats_of = |(scope, counts)| (scope, ScopeStats { scope, tables: 0, levels: Vec::new(), counts });
        let mut scopes: BTreeMap<_, _> = counts.into_iter().map(stats_of).collect();
        for (slot, table) in self.tables.iter() {
            let Some(run) = allocation.run(slot) else { continue };
            let Some(scope) = scopes.get_mut(&run.scope) else { continue };
            scope.tables += 1;
            let level = at_level(&mut scope.levels, run.level);
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
        scopes.into_values().collect()
    }
}

/// The place of a level: shallow ones first, the unknown one last.
fn at_level(levels: &mut Vec<LevelUnits>, level: Option<u8>) -> &mut LevelUnits {
    let order = |level: Option<u8>| (level.is_none(), level);
    let at = levels.binary_search_by_key(&order(level), |units| order(units.level)).unwrap_or_else(|at| {
        levels.insert(at, LevelUnits { level, ..LevelUnits::default() });
        at
    });
    &mut levels[at]
}
