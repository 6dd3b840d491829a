//! The background thread: it learns, plans and loads, so that lookups need not.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::arrivals::Arrivals;
use super::cpu_budget::{CpuBudget, REST_MIN};
use super::load_pause::{LOAD_PAUSE_MIN, LoadPause, NAP_MAX};
use super::read_time::ReadTime;
use super::unsafe_yielding::yield_to_others;
use crate::load_unit::{Progress, load_next};
use crate::notices::Notices;
use crate::registry::{Registry, SharedRegistry};
use crate::visits::VisitBuffer;

/// Batches of visits taken in before it is the turn of loads.
const BATCHES_PER_ROUND: usize = 8;
/// Loads before it is the turn of visits.
const LOADS_PER_ROUND: u32 = 4;
/// Name of the threads that read beside the background thread where reads take long.
const LOADER_NAME: &str = "springbloom-load";
/// Pieces of the policy's own work per round.
const REBALANCES_PER_ROUND: usize = 4;
/// How long the idle thread sleeps at first. A lookup wakes it only when batches pile up: waking costs a system call.
const NAP_MIN: Duration = Duration::from_millis(1);

/// How a round ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    Worked,
    /// Something is to be done later.
    Waits,
    Idle,
}

/// State from one round to the next.
struct Pace {
    cpu_budget: CpuBudget,
    pause: LoadPause,
    read_time: ReadTime,
    arrivals: Arrivals,
}

/// Those who wait for the thread, by number: the last one that a whole round followed, and the last one after whom there was nothing to do.
#[derive(Default)]
struct Waiters {
    asked: u64,
    after_round: u64,
    after_idle: u64,
}

/// State of the manager and its thread.
pub(crate) struct Shared {
    pub registry: SharedRegistry,
    pub visits: Arc<VisitBuffer>,
    waiters: Mutex<Waiters>,
    round_ended: Condvar,
    stop: AtomicBool,
    thread_panics: AtomicU64,
    notices: Arc<Notices>,
}

impl Shared {
    pub(crate) fn new(registry: Registry, visits: Arc<VisitBuffer>, notices: Arc<Notices>) -> Self {
        Self {
            registry: SharedRegistry::new(registry),
            visits,
            waiters: Mutex::default(),
            round_ended: Condvar::new(),
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

    /// Works until it is stopped.
    pub(crate) fn run(&self) {
        yield_to_others();
        let mut nap = NAP_MIN;
        let mut pace = Pace {
            cpu_budget: CpuBudget::new(),
            pause: LoadPause::default(),
            read_time: ReadTime::default(),
            arrivals: Arrivals::new(),
        };
        while !self.stop.load(Ordering::Acquire) {
            let asked = self.waiters.lock().asked;
            // A panic of ours must not end the thread: a stale plan is better than none. Panics of sources are caught at their calls.
            let round = catch_unwind(AssertUnwindSafe(|| self.round(&mut pace)));
            let round = round.unwrap_or_else(|_| {
                self.thread_panics.fetch_add(1, Ordering::Relaxed);
                self.notices.warn("the filter manager's thread panicked and goes on".into());
                Round::Idle
            });
            let is_idle = round == Round::Idle && (!pace.pause.is_on() || pace.pause.is_long());
            self.end_round(asked, is_idle);
            if round == Round::Worked {
                nap = NAP_MIN;
                continue;
            }
            let Pace { cpu_budget, pause, arrivals, .. } = &mut pace;
            let is_paused = pause.is_on();
            let rest = cpu_budget.rest(self.wasted_reads());
            let longest = match round {
                Round::Waits => arrivals.left().min(NAP_MAX),
                _ if is_paused => pause.left().max(LOAD_PAUSE_MIN),
                _ => NAP_MAX,
            };
            if rest.is_zero() {
                self.visits.set_consumer_naps(true);
                std::thread::park_timeout(nap.min(longest));
                self.visits.set_consumer_naps(false);
                nap = (nap * 2).min(NAP_MAX);
            } else {
                std::thread::park_timeout(rest.clamp(REST_MIN, NAP_MAX).min(longest));
            }
        }
        self.end_round(u64::MAX, true);
    }

    /// Tells those who asked before a round began that it is over.
    fn end_round(&self, asked: u64, is_idle: bool) {
        let mut waiters = self.waiters.lock();
        let is_awaited = waiters.after_idle < asked;
        waiters.after_round = asked;
        if is_idle {
            waiters.after_idle = asked;
        }
        if is_awaited {
            self.round_ended.notify_all();
        }
    }

    /// Waits until a round finds nothing to do. It must begin after this call.
    pub(crate) fn wait_idle(&self, thread: &std::thread::Thread, timeout: Duration) -> bool {
        let (mut waiters, asked) = self.ask(thread);
        let is_busy = |waiters: &mut Waiters| waiters.after_idle < asked;
        !self.round_ended.wait_while_for(&mut waiters, is_busy, timeout).timed_out()
    }

    /// Waits until a round ends. It must begin after this call.
    pub(crate) fn wait_for_round(&self, thread: &std::thread::Thread) {
        let (mut waiters, asked) = self.ask(thread);
        self.round_ended.wait_while(&mut waiters, |waiters| waiters.after_round < asked);
    }

    fn ask(&self, thread: &std::thread::Thread) -> (MutexGuard<'_, Waiters>, u64) {
        let mut waiters = self.waiters.lock();
        waiters.asked += 1;
        thread.unpark();
        let asked = waiters.asked;
        (waiters, asked)
    }

    fn wasted_reads(&self) -> u64 {
        self.visits.totals().wasted_reads
    }

    /// Whether somebody waits for the thread to be idle. Then it exceeds its CPU budget.
    fn is_awaited(&self) -> bool {
        let waiters = self.waiters.lock();
        waiters.asked > waiters.after_idle
    }

    /// Learns, fits the plan to the budget, and loads: a bounded piece of each.
    fn round(&self, pace: &mut Pace) -> Round {
        let mut worked = self.is_awaited() || pace.cpu_budget.rest(self.wasted_reads()).is_zero();
        if worked {
            worked = pace.cpu_budget.spend(|| self.learn());
        }
        worked |= self.registry.lock().residency.fit_piece();
        for _ in 0..REBALANCES_PER_ROUND {
            worked |= self.registry.lock().residency.rebalance();
        }
        let last_generation = self.registry.lock().residency.tables.last_generation();
        let are_over = pace.arrivals.are_over(last_generation, self.wasted_reads());
        if are_over && (0..REBALANCES_PER_ROUND).any(|_| self.registry.lock().residency.fill()) {
            return Round::Worked;
        }
        self.registry.lock().maintain_negative_cache();
        // Nothing is read before all is decided: then a table takes fewer reads.
        if are_over {
            worked |= self.load(&mut pace.pause, &mut pace.read_time);
        }
        match worked {
            true => Round::Worked,
            false if are_over => Round::Idle,
            false => Round::Waits,
        }
    }

    /// Makes some reads. `false`: there were none to make.
    fn load(&self, pause: &mut LoadPause, read_time: &mut ReadTime) -> bool {
        if !pause.left().is_zero() {
            return false;
        }
        let begun = Instant::now();
        let in_flight = match read_time.in_flight() {
            1 => 1,
            most => self.registry.lock().residency.waiting_loads(most),
        };
        let (loads, end) = std::thread::scope(|scope| {
            for _ in 1..in_flight {
                // Without a thread, fewer reads are made at once.
                let _ = std::thread::Builder::new()
                    .name(LOADER_NAME.into())
                    .spawn_scoped(scope, || self.load_some());
            }
            self.load_some()
        });
        if loads > 0 {
            read_time.took(begun.elapsed(), loads);
        }
        match end {
            Progress::Blocked => pause.lengthen(),
            Progress::Loaded | Progress::Idle => pause.end(),
        }
        loads > 0
    }

    /// Makes some reads one after the other. Gives how many, and how the last one ended.
    fn load_some(&self) -> (u32, Progress) {
        for loads in 0..LOADS_PER_ROUND {
            match load_next(&self.registry) {
                Progress::Loaded => (),
                end => return (loads, end),
            }
        }
        (LOADS_PER_ROUND, Progress::Loaded)
    }

    /// Takes in some batches. `false`: there were none.
    fn learn(&self) -> bool {
        for taken in 0..BATCHES_PER_ROUND {
            // Locked first: whoever has the registry finds each batch in the pool or taken in, and none in between.
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
