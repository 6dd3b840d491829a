//! The background thread: it learns and plans, and calls threads that read units, so that lookups need not.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Scope, Thread};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::cpu_budget::{CpuBudget, REST_MIN};
use super::load_pause::{LOAD_PAUSE_MIN, NAP_MAX};
use super::opening_burst::OpeningBurst;
use super::readers::Readers;
use super::unsafe_yielding::yield_to_others;
use crate::load_unit::{Progress, load_next};
use crate::notices::Notices;
use crate::registry::{Registry, SharedRegistry};
use crate::visits::VisitBuffer;
use crate::waiting_table::WaitsFor;

/// Batches of visits taken in per round.
const BATCHES_PER_ROUND: usize = 8;
/// Name of the threads that read units.
const READER_NAME: &str = "springbloom-load";
/// Pieces of the policy's own work per round.
const REBALANCES_PER_ROUND: usize = 4;
/// How long the idle thread sleeps at first. A lookup wakes it only when batches pile up: waking costs a system call.
const NAP_MIN: Duration = Duration::from_millis(1);

/// How a round ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    Worked,
    /// For more tables.
    Waits,
    /// Units are to be read.
    Reads,
    /// Units are being read.
    Busy,
    /// There was no room for a read.
    Paused,
    /// The system has no thread for reads.
    Refused,
    Idle,
}

/// State from one round to the next.
struct Pace {
    cpu_budget: CpuBudget,
    opening_burst: OpeningBurst,
}

/// Those who wait for the thread, by number: the last one, and the last one after whom there was nothing to do.
#[derive(Default)]
struct Waiters {
    asked: u64,
    after_idle: u64,
}

/// State of the manager and its thread.
pub(crate) struct Shared {
    pub registry: SharedRegistry,
    pub visits: Arc<VisitBuffer>,
    readers: Readers,
    waiters: Mutex<Waiters>,
    became_idle: Condvar,
    stop: AtomicBool,
    thread_panics: AtomicU64,
    notices: Arc<Notices>,
}

impl Shared {
    pub(crate) fn new(registry: Registry, visits: Arc<VisitBuffer>, notices: Arc<Notices>) -> Self {
        Self {
            registry: SharedRegistry(Mutex::new(registry)),
            visits,
            readers: Readers::new(),
            waiters: Mutex::default(),
            became_idle: Condvar::new(),
            stop: AtomicBool::new(false),
            thread_panics: AtomicU64::new(0),
            notices,
        }
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.visits.close();
    }

    /// Rounds that panicked.
    pub(crate) fn thread_panics(&self) -> u64 {
        self.thread_panics.load(Ordering::Relaxed)
    }

    /// Works until it is stopped, and until reads that are under way end.
    pub(crate) fn run(&self) {
        yield_to_others();
        std::thread::scope(|scope| {
            self.run_rounds(scope);
            self.readers.stop();
        });
        self.tell_idle(u64::MAX);
    }

    fn run_rounds<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        let mut nap = NAP_MIN;
        let mut pace = Pace { cpu_budget: CpuBudget::new(), opening_burst: OpeningBurst::new() };
        while !self.stop.load(Ordering::Acquire) {
            let asked = self.waiters.lock().asked;
            self.readers.begin_round();
            // A panic of ours must not end the thread: a stale plan is better than none. Panics of sources are caught at their calls.
            let round = self.guarded(|| self.round(&mut pace, scope)).unwrap_or(Round::Idle);
            self.readers.end_round();
            if round == Round::Idle || round == Round::Paused && self.readers.pause_is_long() {
                self.tell_idle(asked);
            }
            let longest = match round {
                Round::Worked => {
                    nap = NAP_MIN;
                    continue;
                }
                Round::Refused => {
                    // Nothing tells when there is a thread, and what wakes this one gives none.
                    std::thread::sleep(NAP_MAX);
                    continue;
                }
                Round::Waits => pace.opening_burst.left().min(NAP_MAX),
                // Whether they take long.
                Round::Reads => NAP_MIN,
                Round::Paused => self.readers.pause_left().max(LOAD_PAUSE_MIN),
                Round::Busy | Round::Idle => NAP_MAX,
            };
            let rest = pace.cpu_budget.rest(self.wasted_reads());
            if rest.is_zero() {
                self.visits.set_consumer_naps(true);
                std::thread::park_timeout(nap.min(longest));
                self.visits.set_consumer_naps(false);
                nap = (nap * 2).min(NAP_MAX);
            } else {
                std::thread::park_timeout(rest.clamp(REST_MIN, NAP_MAX).min(longest));
            }
        }
    }

    /// `None`: it panicked.
    fn guarded<T>(&self, run: impl FnOnce() -> T) -> Option<T> {
        let ended = catch_unwind(AssertUnwindSafe(run));
        if ended.is_err() {
            self.thread_panics.fetch_add(1, Ordering::Relaxed);
            self.notices.warn("the filter manager's thread panicked and continues".into());
        }
        ended.ok()
    }

    /// Tells those who asked before a round that it found nothing to do.
    fn tell_idle(&self, asked: u64) {
        let mut waiters = self.waiters.lock();
        if waiters.after_idle < asked {
            waiters.after_idle = asked;
            self.became_idle.notify_all();
        }
    }

    /// Waits until a round finds nothing to do. It must begin after this call.
    pub(crate) fn wait_idle(&self, thread: &Thread, timeout: Duration) -> bool {
        let mut waiters = self.waiters.lock();
        waiters.asked += 1;
        thread.unpark();
        let asked = waiters.asked;
        let is_busy = |waiters: &mut Waiters| waiters.after_idle < asked;
        !self.became_idle.wait_while_for(&mut waiters, is_busy, timeout).timed_out()
    }

    fn wasted_reads(&self) -> u64 {
        self.visits.totals().wasted_reads
    }

    /// Whether somebody waits for the thread to be idle. Then it exceeds its CPU budget.
    fn is_awaited(&self) -> bool {
        let waiters = self.waiters.lock();
        waiters.asked > waiters.after_idle
    }

    /// Learns, fits the plan to the budget, and has units read: a bounded piece of each.
    fn round<'scope>(&'scope self, pace: &mut Pace, scope: &'scope Scope<'scope, '_>) -> Round {
        let mut worked = self.is_awaited() || pace.cpu_budget.rest(self.wasted_reads()).is_zero();
        if worked {
            worked = pace.cpu_budget.spend(|| self.learn());
        }
        worked |= self.registry.lock().fit_piece();
        for _ in 0..REBALANCES_PER_ROUND {
            worked |= self.registry.lock().rebalance();
        }
        // A lookup of memory alone (`not_read`) would have wasted a read elsewhere.
        let totals = self.visits.totals();
        let is_burst_over =
            pace.opening_burst.is_over(self.last_generation(), totals.wasted_reads + totals.not_read);
        if is_burst_over && (0..REBALANCES_PER_ROUND).any(|_| self.registry.lock().fill()) {
            return Round::Worked;
        }
        self.registry.lock().measure_lately();
        if is_burst_over {
            self.registry.lock().plan_indexes();
        }
        // Nothing is read before all is decided: then a table takes fewer reads.
        let is_paused = !self.readers.pause_left().is_zero();
        let has_reads = is_burst_over && !is_paused && self.registry.lock().has_reads();
        let has_chores = self.has_chores();
        if (has_reads || has_chores) && !self.call_reader(scope) {
            return Round::Refused;
        }
        match worked {
            true => Round::Worked,
            false if has_reads || has_chores => Round::Reads,
            false if !is_burst_over => Round::Waits,
            // They wake this thread.
            false if self.readers.are_busy() => Round::Busy,
            false if is_paused => Round::Paused,
            false => Round::Idle,
        }
    }

    /// `false`: the system has no thread to give.
    fn call_reader<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) -> bool {
        let Some(place) = self.readers.call() else { return true };
        let background = std::thread::current();
        let builder = std::thread::Builder::new().name(READER_NAME.into());
        let is_given = builder.spawn_scoped(scope, move || self.read(place, &background)).is_ok();
        if !is_given {
            self.readers.give_back(place);
        }
        is_given
    }

    /// Does chores and reads what there is, until nobody calls any more. When tables come, it is the background thread's turn: the plan
    /// changes.
    fn read(&self, place: usize, background: &Thread) {
        let mut last_generation = self.last_generation();
        loop {
            self.do_chores(place);
            self.open_tables(place);
            let is_its_turn = self.last_generation() == last_generation && !self.stop.load(Ordering::Acquire);
            let end = match self.readers.pause_left().is_zero() {
                true if is_its_turn => {
                    Some(self.guarded(|| load_next(&self.registry)).unwrap_or(Progress::Idle))
                }
                true => Some(Progress::Idle),
                false => None,
            };
            if end == Some(Progress::Loaded) {
                self.readers.go_on(place);
            } else if self.readers.rest(place, end, background) {
                last_generation = self.last_generation();
            } else {
                return;
            }
        }
    }

    /// Whether something is to be done before units are read.
    fn has_chores(&self) -> bool {
        let registry = &*self.registry.lock();
        registry.loads.has_chores() || registry.loads.has_waiting(registry.memory.budget.frees())
    }

    /// Reads the directories that are due.
    fn open_tables(&self, place: usize) {
        let next = || {
            let registry = &mut *self.registry.lock();
            registry.loads.begin_waiting(registry.memory.budget.frees())
        };
        while let Some(begun) = next().filter(|_| !self.stop.load(Ordering::Acquire)) {
            // One that panics is tried again, as one that cannot be read.
            let why = self.guarded(|| begun.table.open()).unwrap_or(Some(WaitsFor::File));
            let table = self.registry.lock().loads.end_waiting(begun, why);
            drop(table);
            self.readers.end_chore(place);
        }
    }

    fn do_chores(&self, place: usize) {
        let next = || self.registry.lock().loads.begin_chore();
        while let Some((chore, number)) = next().filter(|_| !self.stop.load(Ordering::Acquire)) {
            self.readers.begin_chore(place);
            self.guarded(chore.run);
            self.registry.lock().loads.in_flight.end(number);
            self.readers.end_chore(place);
        }
    }

    fn last_generation(&self) -> u32 {
        self.registry.lock().tables.last_generation()
    }

    /// Takes in some batches. `false`: there were none.
    fn learn(&self) -> bool {
        for taken in 0..BATCHES_PER_ROUND {
            // Locked first: a thread that has the registry finds each batch in the pool or taken in, none in between.
            let mut registry = self.registry.lock();
            let Some(batch) = self.visits.take() else {
                drop(registry);
                self.visits.sample_more();
                return taken > 0;
            };
            registry.take_in(&batch);
            drop(registry);
            self.visits.give_back(batch);
        }
        true
    }
}
