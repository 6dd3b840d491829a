//! What a new table inherits from the known tables that it overlaps.

use super::{Registry, SharedRegistry};
use crate::keys::KeyRange;
use crate::lookup::TableShared;
use crate::names::ScopeId;
use crate::plan::Hotness;
use crate::plan::inherit::{self, Relative};
use crate::plan::neighbours::sample;
use crate::table_spec::TableSpec;

/// A new table inherits from this many tables of a level at most, and so does each of its segments. They are a sample of more.
const RELATIVES_MAX: usize = 256;
const RELATIVES_MAX_PER_SEGMENT: usize = 8;

fn relatives_max(spec: &TableSpec) -> usize {
    RELATIVES_MAX + RELATIVES_MAX_PER_SEGMENT * spec.shapes.len()
}

/// Wasted reads depend on resident units, and new segments have none yet.
fn of_new_segments(mut hotness: Vec<Hotness>) -> Vec<Hotness> {
    hotness.iter_mut().for_each(|hotness| hotness.wasted_reads = hotness.negatives);
    hotness
}

impl SharedRegistry {
    /// What a table inherits where the host's code orders its keys, which is called without the lock; `None` for another table.
    pub(crate) fn inherited_by_comparator_of_host(&self, spec: &TableSpec) -> Option<Vec<Hotness>> {
        let comparator = spec.comparator.filter(|comparator| !comparator.is_bytewise())?;
        let range = KeyRange::of_table(spec.fences.as_ref())?;
        let mut tables = self.lock().tables_to_compare(spec);
        tables.retain(|(_, table)| {
            KeyRange::of_table(table.fences()).is_some_and(|theirs| {
                range.end.reaches(theirs.first, comparator) && theirs.end.reaches(range.first, comparator)
            })
        });
        tables.sort_by_key(|(level, _)| *level);
        let levels = tables.chunk_by(|(a, _), (b, _)| a == b);
        let relatives: Vec<_> = levels.flat_map(|level| sample(level, relatives_max(spec))).collect();
        let hotness = self.lock().hotness_of(&relatives);
        let relatives = std::iter::zip(&relatives, &hotness).map(|((level, table), segments)| Relative {
            level: *level,
            fences: table.fences(),
            hotness: |segment: u32| segments.get(segment as usize).copied().unwrap_or_default(),
        });
        Some(of_new_segments(inherit::inherit(spec.fences.as_ref(), spec.level, comparator, relatives)))
    }
}

impl Registry {
    fn may_inherit(&self) -> bool {
        self.inherit_hotness && self.planner.allocation().ticks() > 0
    }

    /// Hotness that the segments of a new table start with, if its keys are in the order of their bytes.
    pub(super) fn inherited(&mut self, spec: &TableSpec) -> Vec<Hotness> {
        let may_inherit = self.may_inherit() && spec.is_bytewise();
        let (Some(range), Some(comparator), true) =
            (KeyRange::of_table(spec.fences.as_ref()), spec.comparator, may_inherit)
        else {
            return vec![Hotness::default(); spec.shapes.len()];
        };
        let Self { planner, tables, .. } = self;
        let allocation = planner.allocation();
        let run_of = |slot| allocation.run(slot);
        let relatives = tables.relatives(spec.scope, range, relatives_max(spec), run_of);
        let relatives = relatives.into_iter().filter_map(|slot| {
            let hotness = move |segment: u32| {
                allocation.table(slot).get(segment as usize).map(|state| state.hotness()).unwrap_or_default()
            };
            let level = allocation.run(slot)?.level;
            Some(Relative { level, fences: tables.get(slot)?.shared.fences(), hotness })
        });
        of_new_segments(inherit::inherit(spec.fences.as_ref(), spec.level, comparator, relatives))
    }

    /// All tables of the scope with their levels, if a new one may inherit and is not known. O(tables of the scope).
    fn tables_to_compare(&self, spec: &TableSpec) -> Vec<(Option<u8>, TableShared)> {
        if !self.may_inherit() || spec.warm_start.is_some() || self.knows(spec.id) {
            return Vec::new();
        }
        let Self { planner, tables, .. } = self;
        let allocation = planner.allocation();
        let table = |slot: u32| Some((allocation.run(slot)?.level, tables.get(slot)?.shared.clone()));
        tables.slots_of(spec.scope..ScopeId(spec.scope.0 + 1)).into_iter().filter_map(table).collect()
    }

    /// Hotness of the segments of each table; none of one that was forgotten meanwhile.
    fn hotness_of(&self, relatives: &[(Option<u8>, TableShared)]) -> Vec<Vec<Hotness>> {
        let Self { planner, tables, .. } = self;
        let segments = |table: &TableShared| {
            let is_known = tables.get_registered(table.slot(), table.generation()).is_some();
            let states = if is_known { planner.allocation().table(table.slot()) } else { &[] };
            states.iter().map(|state| state.hotness()).collect()
        };
        relatives.iter().map(|(_, table)| segments(table)).collect()
    }
}
