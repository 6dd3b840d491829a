//! What the registry tells of itself.

use std::collections::BTreeMap;

use super::Registry;
use super::table::Table;
use crate::budget::MemoryKind;
use crate::memory::group_bytes;
use crate::names::{ScopeId, TableId};
use crate::plan::SegmentDemand;
use crate::stats::{LevelUnits, ScopeStats, Stats, UsedBytes};
use crate::unit_source::KnownTable;

/// What a [`MemoryCurve`](crate::MemoryCurve) is made of.
pub(crate) struct Demand {
    pub segments: Vec<SegmentDemand>,
    pub visits: f64,
    pub other_bytes: usize,
}

impl Registry {
    pub(crate) fn knows(&self, id: TableId) -> bool {
        self.index_of(id).is_some()
    }

    pub(crate) fn known_tables(&self) -> impl Iterator<Item = KnownTable<'_>> {
        self.tables.iter().flatten().filter_map(|table| self.as_known(table))
    }

    pub(super) fn as_known<'a>(&'a self, Table { open, source, .. }: &'a Table) -> Option<KnownTable<'a>> {
        let source = self.sources.get(*source)?;
        Some(KnownTable { id: open.id(), source, locator: open.locator(), is_open: !open.is_closed() })
    }

    /// Share of false positives that the negative cache misses; scales the analytic rates.
    pub(crate) fn unknown_share(&self) -> f64 {
        self.negative_cache.unknown_share()
    }

    /// Measured use of all segments. O(segments).
    pub(crate) fn demand(&self) -> Demand {
        let mut segments = Vec::with_capacity(self.planner.allocation().segment_count());
        let mut visits = 0.0;
        for (_, state) in self.planner.allocation().segments().iter() {
            visits += f64::from(state.counts().access_count());
            let negatives = f64::from(state.counts().negatives()) * self.unknown_share();
            segments.push(SegmentDemand { shape: state.shape, units_max: state.units_max(), negatives });
        }
        Demand { segments, visits, other_bytes: self.other_bytes() }
    }

    /// A reading of all counters but those of the thread. O(segments).
    pub(crate) fn stats(&self) -> Stats {
        let budget = self.budget.snapshot();
        let used = |kind| self.budget.used_bytes_of(kind);
        let scopes = self.scopes();
        let levels = in_all_scopes(&scopes);
        let resident_bytes = levels.iter().map(|level| level.unit_bytes).sum();
        Stats {
            policy: self.policy,
            budget_bytes: budget.budget_bytes,
            used_bytes: budget.used_bytes,
            peak_bytes: self.budget.peak_bytes(),
            used: UsedBytes {
                units: resident_bytes,
                bookkeeping: used(MemoryKind::Bookkeeping),
                buffers: used(MemoryKind::Buffers),
                loading: used(MemoryKind::Loading) + used(MemoryKind::HandedOver),
                negative_cache: used(MemoryKind::NegativeCache),
                garbage: used(MemoryKind::Units).saturating_sub(resident_bytes),
            },
            tables: self.tables.iter().flatten().count(),
            closed_tables: self.known_tables().filter(|table| !table.is_open).count(),
            refused_tables: self.counters.refused_tables,
            failing_tables: self.loads.failing_count(&self.tables),
            segments: self.planner.allocation().segment_count(),
            levels,
            scopes,
            loads: self.counters.loads,
            load_bytes: self.counters.load_bytes,
            load_reads: self.counters.load_reads,
            handed_over_units: self.counters.handed_over_units,
            evictions: self.counters.evictions,
            corrupt_units: self.counters.corrupt_units,
            failed_reads: self.counters.failed_reads,
            thread_panics: 0,
            dropped_visits: self.lookups.visits.dropped_visits(),
            unpaid_bytes: self.lookups.visits.unpaid_bytes() + self.unpaid_fixed_bytes(),
            sampled_one_in: self.lookups.visits.sample_weight(),
            outcomes: self.totals(),
            expected_wasted_reads_per_visit: self.planner.allocation().expected_wasted_reads_per_visit()
                * self.negative_cache.unknown_share(),
        }
    }

    fn scopes(&self) -> Vec<ScopeStats> {
        let mut levels: BTreeMap<(ScopeId, u16), LevelUnits> = BTreeMap::new();
        let mut tables: BTreeMap<ScopeId, usize> = BTreeMap::new();
        for (slot, table) in self.tables.iter().enumerate() {
            let run = self.planner.allocation().runs().of(slot as u32);
            let (Some(table), Some(run)) = (table, run) else { continue };
            *tables.entry(run.scope).or_default() += 1;
            let level = levels.entry((run.scope, place_of(run.level))).or_default();
            level.level = run.level;
            for (state, cell) in self.planner.allocation().table(slot as u32).iter().zip(table.open.cells()) {
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
        let counts = self.planner.allocation().runs().scope_counts();
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
