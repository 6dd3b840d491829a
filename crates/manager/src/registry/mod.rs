//! All known tables, the plan for them, and what carries it out. It stands behind one mutex, which no lookup takes.
//!
//! The floors, each of which uses only those before it: `tables`, `memory`, `load_queue`, `corrupt_units`, `indexes` and `lately` have
//! fields of their own; `residency` brings what is resident in line with the plan; the other methods of the registry call it.
//!
//! Invariants:
//! - resident units never exceed the planned ones except while a read is under way, and are evicted at once when the plan shrinks;
//! - the plan leaves room for everything else that is reserved;
//! - every group that lookups can find was built from units that were verified for its segment.

mod corrupt_units;
mod indexes;
mod inheritance;
mod lately;
mod load_queue;
mod memory;
mod report;
mod residency;
mod tables;
mod warm_start;

pub use lately::Lately;
pub(crate) use load_queue::{LoadRequest, LoadResult, READS_MAX, ReadUnits};
pub(crate) use memory::HEADROOM_PARTS;

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::budget::{MemoryBudget, MemoryKind, Reservation};
use crate::lookup::{Lookups, TableHandle, TableShared};
use crate::names::{ScopeId, TableId};
use crate::notices::Notices;
use crate::plan::allocation::few_units_bytes;
use crate::plan::{Hotness, Planner, Policy};
use crate::settings::ManagerSettings;
use crate::stats::Stats;
use crate::table_spec::{SegmentUse, TableSpec};
use crate::unit_source::{KnownTable, UnitSource};
use crate::visits::{PackedVisit, SEGMENTS_MAX, Visit, VisitBatch, VisitBuffer, VisitedTable};
use corrupt_units::CorruptUnits;
use indexes::Indexes;
use lately::Recent;
use load_queue::{LoadBy, LoadQueue};
use memory::Memory;
pub use report::{Activity, ForgottenScopes};
use tables::{Table, Tables};

/// The registry behind its mutex.
pub(crate) struct SharedRegistry(pub(crate) Mutex<Registry>);

impl SharedRegistry {
    pub(crate) fn lock(&self) -> Locked<'_> {
        Locked { registry: self.0.lock(), retired: Vec::new() }
    }
}

/// The registry, locked. What the host's code is to drop is dropped after the lock is released.
pub(crate) struct Locked<'r> {
    /// Before `retired`: fields are dropped in order.
    registry: MutexGuard<'r, Registry>,
    retired: Vec<Arc<dyn UnitSource>>,
}

impl Locked<'_> {
    /// Lets others have it in between.
    pub(crate) fn bump(&mut self) {
        MutexGuard::bump(&mut self.registry);
    }
}

impl Deref for Locked<'_> {
    type Target = Registry;

    fn deref(&self) -> &Registry {
        &self.registry
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Registry {
        &mut self.registry
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.retired = self.registry.tables.take_retired();
    }
}

/// How far the budget in force has come to the one that was asked for.
pub(crate) enum BudgetMove {
    /// There is more to evict.
    Evicts,
    /// A lookup still probes an evicted group, or a read is under way.
    Waits,
    /// As far as it comes for now: it has this many bytes.
    Ended(usize),
}

/// The manager's state.
pub(crate) struct Registry {
    inherit_hotness: bool,
    pub(crate) planner: Planner,
    pub(crate) tables: Tables,
    pub(crate) loads: LoadQueue,
    corrupt_units: CorruptUnits,
    indexes: Indexes,
    pub(crate) memory: Memory,
    /// What is counted as it goes. The rest is read when it is asked for.
    pub(crate) counters: Stats,
    notices: Arc<Notices>,
    /// What the host keeps for a known table.
    host_bytes: usize,
    pub(crate) recent: Recent,
    /// What all handles share.
    lookups: Arc<Lookups>,
}

impl Registry {
    pub(crate) fn new(
        settings: &ManagerSettings,
        policy: Box<dyn Policy>,
        budget: MemoryBudget,
        visits: Arc<VisitBuffer>,
        notices: Arc<Notices>,
    ) -> Self {
        let mut registry = Self {
            inherit_hotness: settings.inherit_hotness,
            planner: Planner::with_policy(policy, settings.half_life_visits, 0),
            tables: Tables::new(budget.clone()),
            loads: LoadQueue::default(),
            corrupt_units: CorruptUnits::default(),
            indexes: Indexes::default(),
            memory: Memory::new(budget.clone(), visits.clone()),
            counters: Stats::default(),
            notices,
            host_bytes: settings.table_bytes,
            recent: Recent::default(),
            lookups: Arc::new(Lookups { visits, reader_bytes: settings.reader_bytes }),
        };
        registry.fit(0);
        registry
    }

    /// Takes in a table that a reader opened; see [`Manager::register`](crate::Manager::register). `inherited`: by its segments, where the
    /// host's code orders the keys. Gives the handle, and `more_bytes` that are reserved for the host.
    pub(crate) fn register(
        &mut self,
        spec: TableSpec,
        inherited: Option<Vec<Hotness>>,
        more_bytes: usize,
    ) -> Option<(TableHandle, Reservation)> {
        let mut known = self.tables.slot_of(spec.id);
        if known.is_some_and(|slot| !self.matches(slot, &spec)) {
            self.notices.warn(format!(
                "two tables of different content have the identity {:?}: the older one is forgotten",
                spec.id
            ));
            self.forget(spec.id);
            known = None;
        }
        let reservation = match known {
            Some(_) => self.reserve(self.lookups.reader_bytes + more_bytes, 0),
            None => self.reserve_bookkeeping(&spec, more_bytes),
        };
        let Some(mut reservation) = reservation else {
            self.count_refused(&spec);
            return None;
        };
        let for_host = reservation.split(more_bytes);
        // The handle gives the reader's bytes back, the table the others.
        reservation.forget(MemoryKind::Bookkeeping);
        let slot = match known {
            Some(slot) => self.reattach(slot, spec),
            None => self.insert(spec, inherited),
        };
        let table = self.tables.get(slot)?;
        Some((TableHandle::of(table.shared.clone()), for_host))
    }

    fn matches(&self, slot: u32, spec: &TableSpec) -> bool {
        let Some(Table { shared, .. }) = self.tables.get(slot) else { return false };
        let states = self.planner.allocation().table(slot);
        shared.fences() == spec.fences.as_ref()
            && shared.locator() == spec.locator
            && states.len() == spec.shapes.len()
            && states.iter().zip(&spec.shapes).all(|(state, &shape)| state.shape == shape)
    }

    fn count_refused(&mut self, spec: &TableSpec) {
        let Self { counters, notices, memory, .. } = self;
        if counters.refused_tables == 0 {
            notices.warn(format!(
                "no room for the bookkeeping of a table with {} segments in a filter budget of {} bytes: \
                 its lookups go without filters",
                spec.shapes.len(),
                memory.budget.budget_bytes()
            ));
        }
        counters.refused_tables += 1;
    }

    fn reattach(&mut self, slot: u32, spec: TableSpec) -> u32 {
        self.tables.set_source(slot, spec.source);
        let level = self.planner.allocation().run(slot).and_then(|run| run.level);
        if spec.level.is_some() && spec.level != level {
            self.move_to_level(slot, spec.level);
        }
        self.queue_table(slot);
        slot
    }

    fn insert(&mut self, mut spec: TableSpec, inherited: Option<Vec<Hotness>>) -> u32 {
        let warm_start = spec.warm_start.take().filter(|segments| segments.len() == spec.shapes.len());
        let hotness = match &warm_start {
            Some(warm_start) => warm_start::first_hotness(self.planner.allocation(), warm_start),
            None => inherited.unwrap_or_else(|| self.inherited(&spec)),
        };
        let slot = self.tables.insert(&spec, self.lookups.clone());
        let Self { tables, indexes, .. } = self;
        tables.get(slot).into_iter().for_each(|table| indexes.add(&table.shared));
        let segments: Vec<_> = spec.shapes.iter().copied().zip(hotness).collect();
        let planner = &mut self.planner;
        planner.insert_table(slot, spec.scope, spec.level, &segments);
        for segment in planner.placement_order(slot) {
            let planner = &mut self.planner;
            match &warm_start {
                Some(warm_start) => {
                    warm_start::restore_units(planner, segment, warm_start[segment.segment as usize]);
                }
                None => planner.policy.place(segment, &mut planner.allocation),
            }
            self.apply_plan(LoadBy::Table);
        }
        slot
    }

    /// For a table that is not known yet, and a reader of it.
    fn reserve_bookkeeping(&mut self, spec: &TableSpec, more_bytes: usize) -> Option<Reservation> {
        let is_sane = spec.shapes.len() == spec.fences.len()
            && spec.shapes.len() < SEGMENTS_MAX
            && spec.locator.len() <= TableShared::LOCATOR_BYTES_MAX;
        if !is_sane || !self.tables.has_free_slot() {
            return None;
        }
        let list_bytes = self.list_bytes(spec.shapes.len()) - self.list_bytes(0);
        let shared_bytes = TableShared::bytes_for(spec);
        let other_bytes = self.table_bytes_beside_shared(spec.shapes.len(), spec.index_bytes > 0);
        let few_units_bytes = few_units_bytes(spec.shapes.iter().copied());
        let bytes = shared_bytes + other_bytes + list_bytes + self.lookups.reader_bytes + more_bytes;
        self.reserve(bytes, few_units_bytes)
    }

    /// A table moved to another level; one that is not known is ignored.
    pub(crate) fn set_level(&mut self, id: TableId, level: Option<u8>) {
        if let Some(slot) = self.tables.slot_of(id) {
            self.move_to_level(slot, level);
        }
    }

    fn move_to_level(&mut self, slot: u32, level: Option<u8>) {
        let Self { planner, tables, .. } = self;
        if let Some(run) = planner.allocation().run(slot) {
            tables.move_to_another_level(slot, run.scope);
            planner.set_level(slot, level);
        }
    }

    /// Frees everything about a table.
    pub(crate) fn forget(&mut self, id: TableId) {
        let list_bytes = self.list_bytes(0);
        let Self { planner, tables, loads, indexes, memory, .. } = self;
        let Some(slot) = tables.slot_of(id) else { return };
        let Some(run) = planner.allocation().run(slot) else { return };
        loads.remove_table(tables, slot);
        let Some(table) = tables.remove(slot, run.scope) else { return };
        planner.remove_table(slot);
        table.shared.cells().iter().for_each(|cell| memory.garbage.take_group(cell.clear()));
        indexes.remove(slot, &table.shared);
        let (segments, has_index) = (table.shared.cells().len(), table.shared.index().is_some());
        let bytes = table.shared.bytes() + self.table_bytes_beside_shared(segments, has_index);
        let list_bytes = list_bytes - self.list_bytes(0);
        self.memory.budget.release(MemoryKind::Bookkeeping, list_bytes);
        self.tables.keep_forgotten(table, bytes);
    }

    /// Frees everything about a table unless some reader has it open.
    pub(crate) fn forget_closed(&mut self, id: TableId) {
        let tables = &self.tables;
        let table = tables.slot_of(id).and_then(|slot| tables.get(slot));
        if table.is_some_and(|table| table.shared.is_closed()) {
            self.forget(id);
        }
    }

    pub(crate) fn knows(&self, id: TableId) -> bool {
        self.tables.slot_of(id).is_some()
    }

    /// What happened in some scopes, whose tables are in these slots, and lately in all.
    pub(crate) fn activity_of(&self, scopes: Range<ScopeId>, slots: &[u32]) -> Activity {
        let runs = &self.planner.allocation.runs;
        Activity { counts: runs.counts_of(scopes, slots), lately: self.recent.lately }
    }

    pub(crate) fn known_tables(&self) -> impl Iterator<Item = KnownTable<'_>> {
        let tables = &self.tables;
        tables.iter().filter_map(|(_, table)| tables.as_known(table))
    }

    /// Shows the tables with these identities, as far as they are known, with the use of each segment.
    pub(crate) fn visit_uses(&self, ids: &[TableId], mut visit: impl FnMut(KnownTable<'_>, Vec<SegmentUse>)) {
        let Self { planner, tables, .. } = self;
        for slot in ids.iter().filter_map(|&id| tables.slot_of(id)) {
            let known = tables.get(slot).and_then(|table| tables.as_known(table));
            known.into_iter().for_each(|known| visit(known, warm_start::use_of(planner.allocation(), slot)));
        }
    }

    /// Lets the policy learn from a batch; visits to tables that were forgotten meanwhile are ignored.
    pub(crate) fn take_in(&mut self, batch: &VisitBatch) {
        batch.visits.iter().for_each(|&visit| self.take_in_visit(visit, batch.sample_weight()));
    }

    /// The same for visits to some tables alone, which leave the batch.
    pub(crate) fn take_in_of(&mut self, slots: &BTreeSet<u32>, batch: &mut VisitBatch) {
        let sample_weight = batch.sample_weight();
        batch.visits.retain(|&visit| {
            let is_of_them = slots.contains(&visit.segment().table);
            if is_of_them {
                self.take_in_visit(visit, sample_weight);
            }
            !is_of_them
        });
    }

    fn take_in_visit(&mut self, visit: PackedVisit, sample_weight: u32) {
        let segment = visit.segment();
        let is_same =
            |table: &Table| visit.is_of(VisitedTable::new(segment.table, table.shared.generation()));
        if self.tables.get(segment.table).is_some_and(is_same) {
            self.planner.record(Visit { segment, outcome: visit.outcome(), sample_weight });
            self.apply_plan(LoadBy::Segment);
        }
    }

    /// Asks for another budget: nothing is planned beyond it from now on.
    pub(crate) fn ask_budget(&mut self, budget_bytes: usize) {
        if budget_bytes != self.memory.budget.asked_bytes() {
            self.recent.forget();
            // There may be room now for what found none.
            self.planner.allocation.end_backoffs();
        }
        self.memory.ask(budget_bytes);
    }

    /// A piece of moving the budget in force to the one that was asked for.
    pub(crate) fn move_budget(&mut self) -> BudgetMove {
        let asked_bytes = self.memory.budget.asked_bytes();
        self.lookups.visits.fit(asked_bytes);
        // The budget falls after all is evicted: until then, shrinking groups need room for their copies.
        if self.fit_piece() {
            return BudgetMove::Evicts;
        }
        let reached_bytes = self.memory.budget.follow();
        if reached_bytes <= asked_bytes {
            self.lookups.visits.fit(asked_bytes);
            self.fit(0);
            return BudgetMove::Ended(reached_bytes);
        }
        // Nobody waits for a read that seems to hang: the budget falls when it is over.
        let movable_bytes = self.memory.movable_bytes();
        if movable_bytes > self.loads.in_flight.late_bytes() {
            return BudgetMove::Waits;
        }
        self.memory.collect();
        let reached_bytes = self.memory.budget.budget_bytes();
        if reached_bytes > asked_bytes {
            self.notices.warn(format!(
                "a filter budget of {asked_bytes} bytes is less than what stays in use for now: {reached_bytes} bytes"
            ));
        }
        BudgetMove::Ended(reached_bytes)
    }

    /// Looks at how visits ended, now and then.
    pub(crate) fn measure_lately(&mut self) {
        let ticks = self.planner.allocation().ticks();
        self.recent.measure(ticks, || self.lookups.visits.totals());
    }

    /// Keys of all tables known. O(segments).
    pub(crate) fn keys(&self) -> u64 {
        let segments = self.planner.allocation().segments();
        segments.iter().map(|(_, state)| u64::from(state.shape.key_count())).sum()
    }
}
