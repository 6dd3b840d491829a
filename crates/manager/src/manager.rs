//! The interface of the crate: one manager that many databases and column families share.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::background::{JoinedThread, Shared};
use crate::budget::{MemoryBudget, MemoryKind, Reservation};
use crate::chore::Chore;
use crate::lookup::TableHandle;
use crate::memory_curve::{MeasuredUse, MemoryCurve};
use crate::names::{ScopeId, TableId};
use crate::notices::Notices;
use crate::plan::{Benefit, Policy};
use crate::registry::{Activity, BudgetMove, ForgottenScopes, Registry};
use crate::settings::ManagerSettings;
use crate::stats::Stats;
use crate::table_spec::{SegmentUse, TableSpec};
use crate::unit_source::{KnownTable, Place};
use crate::visits::{OutcomeTotals, VisitBuffer};
use crate::waiting_table::{WaitingTable, WaitsFor};

/// Tables that one hold of the mutex goes through where there may be many: enough for a small database, and too few for others to wait.
const TABLES_AT_ONCE: usize = 64;
/// How often a call that lowers the budget looks whether what is in use fits.
const BUDGET_WAIT: Duration = Duration::from_micros(100);

/// Holds the resident units of all tables under one budget.
pub struct Manager {
    shared: Arc<Shared>,
    budget: MemoryBudget,
    thread: Option<JoinedThread>,
    notices: Arc<Notices>,
}

impl Manager {
    /// A manager with its background thread. A budget of 0, or one too small for the bookkeeping, is a manager without
    /// filters.
    pub fn new(settings: ManagerSettings) -> Arc<Self> {
        Self::with_policy(settings, Box::new(Benefit::default()))
    }

    /// As [`new`](Self::new), with a policy of the caller's.
    pub fn with_policy(settings: ManagerSettings, policy: Box<dyn Policy>) -> Arc<Self> {
        let budget = MemoryBudget::new(settings.budget_bytes);
        let visits = Arc::new(VisitBuffer::new(&budget));
        let notices = Arc::<Notices>::default();
        let registry = Registry::new(&settings, policy, budget.clone(), visits.clone(), notices.clone());
        let shared = Arc::new(Shared::new(registry, visits, notices.clone()));
        let worker = shared.clone();
        let thread = JoinedThread::spawn("springbloom", move || worker.run())
            .inspect_err(|error| notices.warn(format!("no thread to load filter units: {error}")))
            .ok();
        if let Some(thread) = &thread {
            shared.visits.set_consumer(thread.thread().clone());
        }
        Arc::new(Self { shared, budget, thread, notices })
    }

    /// Takes in a table that a reader opened. A [`TableId`] that is already known keeps its resident units and its
    /// measured use. `None`: there is no room even for the bookkeeping; lookups then go without filters, and nothing is kept of the table.
    ///
    /// Takes the manager's mutex; O(segments + overlapping tables, some hundred of each level at most + log tables), where the host's code
    /// orders the keys O(segments + tables of the scope). No I/O.
    pub fn register(&self, spec: TableSpec) -> Option<TableHandle> {
        self.register_with(spec, 0).map(|(handle, _)| handle)
    }

    /// [`register`](Self::register), together with `more_bytes` that the host needs for the table: both or none. Bytes that were taken and
    /// given back would wake other tables that wait for room.
    pub fn register_with(&self, spec: TableSpec, more_bytes: usize) -> Option<(TableHandle, Reservation)> {
        let inherited = self.shared.registry.inherited_by_comparator_of_host(&spec);
        let registered = self.shared.registry.lock().register(spec, inherited, more_bytes);
        self.wake();
        registered
    }

    /// Tells that the table moved to another level unchanged.
    pub fn set_level(&self, id: TableId, level: Option<u8>) {
        self.shared.registry.lock().set_level(id, level);
        self.wake();
    }

    /// Tells that the file is gone: frees everything about the table. Handles that are still held answer "may match".
    pub fn forget(&self, id: TableId) {
        self.shared.registry.lock().forget(id);
    }

    /// [`forget`](Self::forget)s all tables of some scopes, after it took in the visits to them that this thread recorded and that other
    /// threads handed on, and showed `visit` each table with the use of its segments. `visit` must not call the manager. Waits for no read
    /// and not for the background thread. O(visits that wait + these tables), under the manager's mutex, which is taken once for a small
    /// database: those that close are many at times.
    pub fn forget_scopes(
        &self,
        scopes: Range<ScopeId>,
        mut visit: impl FnMut(KnownTable<'_>, Vec<SegmentUse>),
    ) -> ForgottenScopes {
        let mut registry = self.shared.registry.lock();
        let slots = registry.tables.slots_of(scopes.clone());
        let sought = slots.iter().copied().collect();
        self.shared.visits.look_through(|batch| registry.take_in_of(&sought, batch));
        let forgotten = ForgottenScopes {
            is_visited: registry.planner.allocation().runs.is_any_visited(scopes.clone()),
            activity: registry.activity_of(scopes, &slots),
            tables: registry.tables.ids_in(&slots),
        };
        // All are seen before the first is forgotten, whose bytes would go to units of the others.
        for some in forgotten.tables.chunks(TABLES_AT_ONCE) {
            registry.visit_uses(some, &mut visit);
            registry.bump();
        }
        for some in forgotten.tables.chunks(TABLES_AT_ONCE) {
            some.iter().for_each(|&table| registry.forget(table));
            registry.bump();
        }
        forgotten
    }

    /// As [`forget`](Self::forget), unless some reader has the table open.
    pub fn forget_closed(&self, id: TableId) {
        self.shared.registry.lock().forget_closed(id);
    }

    /// Shows all tables of some scopes with the measured use of each of their segments, for a [warm start](TableSpec::warm_start) after a
    /// restart. Takes the manager's mutex, so `visit` must not call the manager. O(segments of these tables).
    pub fn visit_uses(
        &self,
        scopes: Range<ScopeId>,
        mut visit: impl FnMut(KnownTable<'_>, Vec<SegmentUse>),
    ) -> Activity {
        let mut registry = self.shared.registry.lock();
        let slots = registry.tables.slots_of(scopes.clone());
        let activity = registry.activity_of(scopes, &slots);
        for some in registry.tables.ids_in(&slots).chunks(TABLES_AT_ONCE) {
            registry.visit_uses(some, &mut visit);
            registry.bump();
        }
        activity
    }

    /// The scopes that lookups visited since the last call, of those that still have tables, as far as the visits were taken in.
    /// O(sorted runs), under the manager's mutex.
    pub fn take_visited(&self) -> BTreeSet<ScopeId> {
        self.shared.registry.lock().planner.allocation.runs.take_visited()
    }

    /// Wasted reads to expect at any budget, from what was measured. O(segments), half of it under the manager's mutex.
    pub fn memory_curve(&self) -> MemoryCurve {
        let registry = self.shared.registry.lock();
        let demand = registry.demand();
        let measured = MeasuredUse {
            visits: demand.visits,
            wasted_reads: demand.wasted_reads,
            budget_bytes: registry.memory.budget_bytes() as u64,
            bookkeeping_bytes: self.budget.used_bytes_of(MemoryKind::Bookkeeping) as u64,
            lately: registry.recent.lately,
        };
        drop(registry);
        MemoryCurve::of(demand.segments, &measured)
    }

    /// Reserves `bytes` of the budget for the host, and evicts units for them. `None` if there is no room.
    pub fn reserve(&self, bytes: usize) -> Option<Reservation> {
        self.shared.registry.lock().reserve(bytes, 0)
    }

    /// Has a thread that touches files do something, after what it was given before. The threads are 16 at most, and each place has its
    /// share of them, so that what hangs keeps nobody waiting but those of its place. At the manager's end, chores that did not begin are
    /// dropped.
    pub fn run(&self, chore: Chore) {
        self.shared.registry.lock().loads.chores.push_back(chore);
        self.wake();
    }

    /// Has an open table, which was not registered for this reason, opened when that is over. Gives a number for
    /// [`stop_waiting`](Self::stop_waiting).
    pub fn wait_to_open(&self, table: Arc<dyn WaitingTable>, place: Place, why: WaitsFor) -> u64 {
        let now = Instant::now();
        let number = self.shared.registry.lock().loads.waiting.add(table, place, why, now);
        self.wake();
        number
    }

    /// The table waits no more. Its [`open`](WaitingTable::open) may be under way, and is not waited for.
    pub fn stop_waiting(&self, number: u64) {
        let waited = self.shared.registry.lock().loads.waiting.remove(number);
        drop(waited); // without the lock
    }

    /// Counts blocks that a lookup had to read because no cache had them. Lock-free, without allocation.
    pub fn count_block_reads(&self, reads: u64) {
        self.shared.visits.count_block_reads(reads);
    }

    /// How all visits ended, ever. Waits for nothing that takes long, unlike [`stats`](Self::stats).
    pub fn outcomes(&self) -> OutcomeTotals {
        self.shared.visits.totals()
    }

    /// Keys under all segments of known tables. O(segments), under the manager's mutex.
    pub fn keys(&self) -> u64 {
        self.shared.registry.lock().keys()
    }

    /// Tables that were refused so far, for want of room for their bookkeeping.
    pub fn refused_tables(&self) -> u64 {
        self.shared.registry.lock().counters.refused_tables
    }

    /// Shows all known tables. Takes the manager's mutex, so `visit` must not call the manager. O(tables).
    pub fn visit_tables(&self, visit: impl FnMut(KnownTable<'_>)) {
        self.shared.registry.lock().known_tables().for_each(visit);
    }

    /// Whether a table is known.
    pub fn knows(&self, id: TableId) -> bool {
        self.shared.registry.lock().knows(id)
    }

    /// Moves the budget. Returns when what is in use fits, with the budget in force then: more than asked for only if the bookkeeping of
    /// known tables, the lookups' buffers, what the host reserved, and reads that seem to hang take more; less only for more than
    /// [`MemoryBudget::BUDGET_BYTES_MAX`]. Waits for a read of a unit that is under way, up to a quarter of a second; tables are opened
    /// meanwhile. Of two calls at the same time, both move to what the later one asked for.
    pub fn set_budget_bytes(&self, budget_bytes: usize) -> usize {
        self.shared.registry.lock().ask_budget(budget_bytes);
        self.reach_budget()
    }

    /// The same where the budget is larger; otherwise it stays.
    pub fn lower_budget_bytes(&self, budget_bytes: usize) {
        let mut registry = self.shared.registry.lock();
        if self.budget.asked_bytes() > budget_bytes {
            registry.ask_budget(budget_bytes);
            drop(registry);
            self.reach_budget();
        }
    }

    fn reach_budget(&self) -> usize {
        loop {
            let moved = self.shared.registry.lock().move_budget();
            match moved {
                BudgetMove::Evicts => (),
                // For a read that is under way, or a lookup that probes an evicted group.
                BudgetMove::Waits => std::thread::sleep(BUDGET_WAIT),
                BudgetMove::Ended(reached_bytes) => {
                    self.wake();
                    return reached_bytes;
                }
            }
        }
    }

    /// What operators should read.
    pub fn notices(&self) -> &Arc<Notices> {
        &self.notices
    }

    /// The budget, for reading and for charging the host's own needs to it.
    pub fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    /// Waits until the background thread has taken in what was recorded (by this thread, and what other threads handed
    /// on) and has nothing left to load that there is room to read. `false` if `timeout` passed first, and at once in a child of `fork`,
    /// which has no such thread.
    pub fn wait_idle(&self, timeout: Duration) -> bool {
        let Some(thread) = &self.thread else { return true };
        if !thread.is_here() {
            // After `fork`, the condition variable's queue points at the parent's stacks: do not wait on it.
            return false;
        }
        // Twice: if all batches were full at first, the thread has emptied some since. Otherwise the budget has no room for a batch,
        // and this thread keeps its visits.
        for _ in 0..2 {
            let is_flushed = self.shared.visits.flush_thread();
            if !self.shared.wait_idle(thread.thread(), timeout) {
                return false;
            }
            if is_flushed {
                break;
            }
        }
        true
    }

    /// A reading of all counters. O(segments), under the manager's mutex.
    pub fn stats(&self) -> Stats {
        let mut stats = self.shared.registry.lock().stats();
        stats.thread_panics = self.shared.thread_panics();
        stats
    }

    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// Ends the threads, after what they are reading. From then on nothing is learned or loaded. Must be called before the last owner drops
    /// the manager if tables that wait, or chores, may own it: a thread cannot wait for itself.
    pub fn end(&self) {
        self.shared.stop();
        self.wake();
        self.thread.iter().for_each(JoinedThread::join);
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        self.end();
    }
}
