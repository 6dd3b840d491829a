//! All known tables, the plan for them, and what carries it out. It stands behind one mutex, which no lookup takes.
//!
//! Invariants:
//! - resident units never exceed the planned ones except while a read is under way, and are evicted at once when the plan shrinks;
//! - the plan leaves room for everything else that is reserved, and for the copy that a group is replaced by;
//! - every group that lookups can find was built from units that were verified for its segment.

mod bookkeeping;
mod ceiling;
mod failing;
mod garbage;
mod identities;
mod load_queue;
mod loads;
mod negative_cache;
mod report;
mod residents;
mod table;
mod table_list;
mod warm_start;

pub(crate) use loads::{Loaded, LoadedUnits, Wanted};

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::budget::{MemoryBudget, MemoryKind, Reservation};
use crate::keys::KeyRange;
use crate::lookup::negative_cache::NegativeCache;
use crate::lookup::{Lookups, ResidentTable, TableHandle};
use crate::memory::{group_bytes, grow_thriftily};
use crate::names::{ScopeId, SegmentRef, TableId};
use crate::notices::Notices;
use crate::plan::inherit::{self, Relative};
use crate::plan::neighbours::{Keys, Neighbours};
use crate::plan::{Hotness, Planner, Run};
use crate::policy_kind::PolicyKind;
use crate::settings::ManagerSettings;
use crate::stats::Counters;
use crate::table_spec::{SegmentUse, TableSpec};
use crate::unit_source::Sources;
use crate::visits::{OutcomeTotals, PackedVisit, Visit, VisitBatch, VisitBuffer, VisitedTable};
use garbage::Garbage;
use identities::Identities;
use load_queue::LoadQueue;
use negative_cache::CacheMaintenance;
use residents::LoadBy;
use table::{QueueLink, Table};

/// A new table inherits from so many tables of a level at most, and so does each of its segments. They are a sample of more.
const RELATIVES_MAX: usize = 256;
const RELATIVES_MAX_PER_SEGMENT: usize = 8;

fn id_at(tables: &[Option<Table>], slot: u32) -> Option<TableId> {
    tables.get(slot as usize)?.as_ref().map(|table| table.open.id())
}

/// The registry behind its mutex.
pub(crate) struct SharedRegistry(Mutex<Registry>);

impl SharedRegistry {
    pub(crate) fn new(registry: Registry) -> Self {
        Self(Mutex::new(registry))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Registry> {
        self.0.lock()
    }
}

/// The manager's state.
pub(crate) struct Registry {
    policy: PolicyKind,
    inherit_hotness: bool,
    planner: Planner,
    budget: MemoryBudget,
    tables: Vec<Option<Table>>,
    ids: Identities,
    neighbours: Neighbours,
    sources: Sources,
    free_indices: Vec<u32>,
    last_generation: u32,
    negative_cache: CacheMaintenance,
    /// What all handles share.
    lookups: Arc<Lookups>,
    loads: LoadQueue,
    garbage: Garbage,
    counters: Counters,
    /// Bytes kept free of planned units for the copy that a growing group needs.
    headroom_bytes: usize,
    /// The ceiling that was asked for. Nothing is planned beyond it. The ceiling in force follows as bytes come free.
    pending_budget_bytes: usize,
    fixed_reservation: Option<Reservation>,
    notices: Arc<Notices>,
}

impl Registry {
    pub(crate) fn new(
        settings: &ManagerSettings,
        budget: MemoryBudget,
        visits: Arc<VisitBuffer>,
        notices: Arc<Notices>,
    ) -> Self {
        let mut planner = Planner::new(settings);
        planner.set_budget_bytes(0);
        let fixed_bytes = Self::fixed_bytes(&planner);
        let cache = Arc::new(NegativeCache::new(budget.clone()));
        let mut registry = Self {
            policy: settings.policy,
            inherit_hotness: settings.inherit_hotness,
            planner,
            fixed_reservation: budget.try_reserve(MemoryKind::Bookkeeping, fixed_bytes),
            garbage: Garbage::new(budget.clone()),
            tables: Vec::new(),
            ids: Identities::default(),
            neighbours: Neighbours::default(),
            sources: Sources::new(),
            free_indices: Vec::new(),
            last_generation: 0,
            negative_cache: CacheMaintenance::new(cache.clone(), settings.negative_cache),
            lookups: Arc::new(Lookups {
                visits,
                negative_cache: cache,
                budget: budget.clone(),
                reader_bytes: settings.reader_bytes,
            }),
            budget,
            loads: LoadQueue::new(),
            counters: Counters::default(),
            headroom_bytes: 0,
            pending_budget_bytes: usize::MAX,
            notices,
        };
        if registry.fixed_reservation.is_none() {
            registry.notices.warn(format!(
                "a filter budget of {} bytes is too small for the bookkeeping ({fixed_bytes} bytes): lookups go without filters",
                registry.budget.budget_bytes()
            ));
        }
        registry.fit(0);
        registry.fit_negative_cache(registry.budget.budget_bytes());
        registry
    }

    /// Takes in a table that a reader opened; see [`Manager::register`](crate::Manager::register).
    pub(crate) fn register(&mut self, spec: TableSpec) -> Option<TableHandle> {
        let mut known = self.index_of(spec.id);
        if known.is_some_and(|table| !self.matches(table, &spec)) {
            self.notices.warn(format!(
                "two tables of different content have the identity {:?}: the older one is forgotten",
                spec.id
            ));
            self.forget(spec.id);
            known = None;
        }
        let reservation = match known {
            Some(_) => self.reserve(self.lookups.reader_bytes),
            None => self.reserve_bookkeeping(&spec),
        };
        let Some(reservation) = reservation else {
            if self.counters.refused_tables == 0 {
                self.notices.warn(format!(
                    "no room for the bookkeeping of a table with {} segments in a filter budget of {} bytes: \
                     its lookups go without filters",
                    spec.shapes.len(),
                    self.budget.budget_bytes()
                ));
            }
            self.counters.refused_tables += 1;
            return None;
        };
        // The handle gives the reader's bytes back, the garbage the table's.
        reservation.hand_over(MemoryKind::Bookkeeping);
        let slot = match known {
            Some(table) => self.reattach(table, spec),
            None => self.insert(spec),
        };
        self.handle(slot)
    }

    fn handle(&self, slot: u32) -> Option<TableHandle> {
        let table = self.tables[slot as usize].as_ref()?;
        Some(TableHandle::new(table.open.clone(), self.lookups.clone()))
    }

    fn matches(&self, table: u32, spec: &TableSpec) -> bool {
        let Some(known) = &self.tables[table as usize] else { return false };
        let states = self.planner.allocation().table(table);
        known.open.fences() == spec.fences.as_ref()
            && known.open.locator() == spec.locator
            && states.len() == spec.shapes.len()
            && states.iter().zip(&spec.shapes).all(|(state, &shape)| state.shape == shape)
    }

    fn reattach(&mut self, table: u32, spec: TableSpec) -> u32 {
        if let Some(known) = &mut self.tables[table as usize] {
            // Before the old one leaves: it may be the same.
            let source = self.sources.enter(spec.source, Arc::ptr_eq);
            self.sources.leave(std::mem::replace(&mut known.source, source));
        }
        let level = self.planner.allocation().runs().of(table).and_then(|run| run.level);
        if spec.level.is_some() && spec.level != level {
            self.move_to_level(table, spec.level);
        }
        self.queue_table(table);
        table
    }

    fn insert(&mut self, mut spec: TableSpec) -> u32 {
        let fits = |warm_start: &Vec<SegmentUse>| warm_start.len() == spec.shapes.len();
        let warm_start = spec.warm_start.take().filter(fits);
        let hotness = match &warm_start {
            Some(warm_start) => self.warm_start_hotness(warm_start),
            None => self.inherited(&spec),
        };
        let slot = self.free_indices.pop().unwrap_or(self.tables.len() as u32);
        self.last_generation = self.last_generation.saturating_add(1);
        let table = Table {
            open: ResidentTable::new(slot, self.last_generation, &spec),
            source: self.sources.enter(spec.source.clone(), Arc::ptr_eq),
            queue_link: QueueLink::NOT,
        };
        if slot as usize == self.tables.len() {
            grow_thriftily(&mut self.tables, slot as usize + 1);
            self.tables.push(None);
        }
        self.tables[slot as usize] = Some(table);
        self.ids.insert(spec.id, slot, |slot| id_at(&self.tables, slot));
        let segments: Vec<_> = spec.shapes.iter().copied().zip(hotness).collect();
        self.planner.insert_table(slot, spec.scope, spec.level, &segments);
        let fences = |slot: u32| Some(self.tables.get(slot as usize)?.as_ref()?.open.fences());
        let run = Run { scope: spec.scope, level: spec.level };
        self.neighbours.insert(slot, run, &Keys { fences: &fences, order: spec.order });
        for segment in self.planner.placement_order(slot) {
            match &warm_start {
                Some(warm_start) => self.restore_units(segment, warm_start[segment.segment as usize]),
                None => self.planner.place(segment),
            }
            let handed_over =
                spec.first_units.as_mut().and_then(|units| units.get_mut(segment.segment as usize));
            if let Some(bytes) = handed_over.and_then(Option::take) {
                self.take_handed_over(segment, bytes);
            }
            self.apply_plan(LoadBy::Table);
        }
        slot
    }

    fn take_handed_over(&mut self, segment: SegmentRef, bytes: Vec<u8>) {
        if self.planned_units(segment) == 0 || self.resident_units(segment) != 0 {
            return;
        }
        // The policy may have chosen victims. Their bytes must be free before this unit takes them.
        self.apply_plan(LoadBy::Table);
        let shape = self.planner.allocation().segments()[segment].shape;
        let Some(reservation) = self.budget.try_reserve(MemoryKind::Units, group_bytes(shape, 1)) else {
            return;
        };
        match self.grow(segment, 1, &[bytes], reservation) {
            Ok(()) => self.counters.handed_over_units += 1,
            Err(error) => {
                self.notices
                    .warn(format!("a filter unit that was handed over does not fit its table: {error}"));
                self.counters.corrupt_units += 1;
            }
        }
    }

    /// Hotness that the segments of a new table start with.
    fn inherited(&mut self, spec: &TableSpec) -> Vec<Hotness> {
        let planner = self.planner.allocation();
        let range =
            KeyRange::of_table(spec.fences.as_ref()).filter(|_| self.inherit_hotness && planner.ticks() > 0);
        let Some(range) = range else { return vec![Hotness::default(); spec.shapes.len()] };
        let fences = |slot: u32| Some(self.tables.get(slot as usize)?.as_ref()?.open.fences());
        let keys = Keys { fences: &fences, order: spec.order };
        let most = RELATIVES_MAX + RELATIVES_MAX_PER_SEGMENT * spec.shapes.len();
        let family =
            self.neighbours.overlapping(spec.scope, range, most, |slot| planner.runs().of(slot), &keys);
        let relatives = family.into_iter().filter_map(|slot| {
            let hotness = move |segment: u32| {
                let states = planner.table(slot);
                states.get(segment as usize).map(|state| state.counts().hotness()).unwrap_or_default()
            };
            Some(Relative { level: planner.runs().of(slot)?.level, fences: fences(slot)?, hotness })
        });
        let mut hotness = inherit::inherit(spec.fences.as_ref(), spec.level, spec.order, relatives);
        // Wasted reads depend on resident units, and the new segments have none yet.
        hotness.iter_mut().for_each(|hotness| hotness.wasted_reads = hotness.negatives);
        hotness
    }

    /// A table moved to another level; one that is not known is ignored.
    pub(crate) fn set_level(&mut self, id: TableId, level: Option<u8>) {
        if let Some(slot) = self.index_of(id) {
            self.move_to_level(slot, level);
        }
    }

    fn move_to_level(&mut self, slot: u32, level: Option<u8>) {
        if let Some(run) = self.planner.allocation().runs().of(slot) {
            self.neighbours.move_to_another_level(slot, run);
            self.planner.set_level(slot, level);
        }
    }

    /// Frees everything about a table.
    pub(crate) fn forget(&mut self, id: TableId) {
        let Some(slot) = self.ids.remove(id, |slot| id_at(&self.tables, slot)) else { return };
        self.loads.remove_table(&mut self.tables, slot);
        if let Some(run) = self.planner.allocation().runs().of(slot) {
            self.neighbours.remove(slot, run);
        }
        self.planner.remove_table(slot);
        self.free_indices.push(slot);
        let Some(Table { open, source, .. }) = self.tables[slot as usize].take() else { return };
        self.negative_cache.forget(open.generation());
        open.cells().iter().for_each(|cell| self.garbage.take_group(cell.clear()));
        let bytes = open.bytes() + self.table_bytes_beside_open(open.cells().len());
        self.garbage.take_table(open, source, bytes);
        self.garbage.collect_tables(&mut self.sources);
    }

    /// Frees everything about a table unless some reader has it open.
    pub(crate) fn forget_closed(&mut self, id: TableId) {
        let table = self.index_of(id).and_then(|slot| self.tables[slot as usize].as_ref());
        if table.is_some_and(|table| table.open.is_closed()) {
            self.forget(id);
        }
    }

    /// All tables of some scopes. O(log scopes + these tables).
    pub(crate) fn tables_of(&self, scopes: Range<ScopeId>) -> Vec<TableId> {
        let slots = self.neighbours.tables_of(scopes, |slot| self.planner.allocation().runs().of(slot));
        slots.into_iter().filter_map(|slot| id_at(&self.tables, slot)).collect()
    }

    pub(crate) fn index_of(&self, id: TableId) -> Option<u32> {
        self.ids.find(id, |slot| id_at(&self.tables, slot))
    }

    /// Lets the policy learn from a batch; visits to tables that were forgotten meanwhile are ignored.
    pub(crate) fn take_in(&mut self, batch: &VisitBatch) {
        batch.visits().iter().for_each(|&visit| self.take_in_visit(visit, batch.sample_weight()));
    }

    /// The same for visits to some scopes alone, which leave the batch.
    pub(crate) fn take_in_of(&mut self, scopes: &Range<ScopeId>, batch: &mut VisitBatch) {
        let sample_weight = batch.sample_weight();
        batch.retain(|visit| {
            let run = self.planner.allocation().runs().of(visit.segment().table);
            let is_of_them = run.is_some_and(|run| scopes.contains(&run.scope));
            if is_of_them {
                self.take_in_visit(visit, sample_weight);
            }
            !is_of_them
        });
    }

    fn take_in_visit(&mut self, visit: PackedVisit, sample_weight: u32) {
        let segment = visit.segment();
        let known = self.tables.get(segment.table as usize).and_then(Option::as_ref);
        let is_same = |table: &Table| visit.is_of(VisitedTable::new(segment.table, table.open.generation()));
        if known.is_some_and(is_same) {
            self.planner.record(Visit { segment, outcome: visit.outcome(), sample_weight });
            self.apply_plan(LoadBy::Segment);
        }
    }

    /// The scopes with visits since the last call.
    pub(crate) fn take_visited(&mut self) -> BTreeSet<ScopeId> {
        self.planner.allocation_mut().runs_mut().take_visited()
    }

    /// How all visits ever made ended.
    fn totals(&self) -> OutcomeTotals {
        self.lookups.visits.totals()
    }

    /// A bounded piece of the policy's own work. `false` if there was none.
    pub(crate) fn rebalance(&mut self) -> bool {
        let worked = self.planner.rebalance_step();
        self.apply_plan(LoadBy::Table);
        worked
    }

    /// Gives some free bytes to units of which nothing is measured. `false` if there was nothing to give.
    pub(crate) fn fill(&mut self) -> bool {
        let worked = self.planner.fill_step();
        self.apply_plan(LoadBy::Table);
        worked
    }

    /// The table that came last: another number than before if one came.
    pub(crate) fn last_generation(&self) -> u32 {
        self.last_generation
    }
}
