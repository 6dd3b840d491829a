//! The thread that learns, decides and loads, so that lookups need not.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::UnitReadError;
use crate::load::{Job, NextJob};
use crate::registry::Registry;
use crate::visits::VisitBuffer;

/// Batches that are taken in before a load gets its turn.
const BATCHES_PER_ROUND: usize = 8;
/// Loads before visits get their turn.
const LOADS_PER_ROUND: usize = 4;
/// Pieces of the policy's own work per round.
const REBALANCES_PER_ROUND: usize = 4;
/// How long the thread sleeps when it finds nothing to do, at first and at most. Lookups wake it when their batches pile up, not
/// for each: that would cost them a system call.
const NAP_MIN: Duration = Duration::from_millis(1);
const NAP_MAX: Duration = Duration::from_millis(16);

/// Share of one core that learning from visits may take at most: one part in this.
const CPU_PARTS: u32 = 50;
/// Share that it may take even if no lookup wastes a read, and what it may take for each read that one wastes: where there is little to gain
/// there is little to learn, and lookups are slower beside a thread that works.
const CPU_PARTS_WITHOUT_WASTE: u32 = 1000;
const CPU_PER_WASTED_READ: Duration = Duration::from_micros(5);
/// The least rest from learning: a wake-up costs about what it takes to learn from all batches there are under a small budget.
const REST_MIN: Duration = Duration::from_millis(4);
/// What the thread may work at once after it had nothing to do for long.
const CREDIT_MAX: Duration = Duration::from_millis(10);

/// Keeps the time that is spent on visits at a share of all time: a budget of time that fills as time passes and reads are
/// wasted. Reading units is not held back: the policy sees to it that reads repay themselves.
struct CpuBudget {
    credit: Duration,
    debt: Duration,
    seen: Instant,
    seen_wasted_reads: u64,
}

impl CpuBudget {
    fn new() -> Self {
        Self { credit: CREDIT_MAX, debt: Duration::ZERO, seen: Instant::now(), seen_wasted_reads: 0 }
    }

    /// How long nothing must be worked, as far as can be foreseen, until what was worked is at most its share; `wasted_reads` is how many
    /// there ever were.
    fn rest(&mut self, wasted_reads: u64) -> Duration {
        let now = Instant::now();
        let had = self.credit + earned(now - self.seen, wasted_reads.saturating_sub(self.seen_wasted_reads));
        (self.seen, self.seen_wasted_reads) = (now, wasted_reads);
        self.credit = had.saturating_sub(self.debt).min(CREDIT_MAX);
        self.debt = self.debt.saturating_sub(had);
        self.debt * CPU_PARTS
    }

    fn worked(&mut self, time: Duration) {
        self.debt += time;
    }
}

/// What may be spent on learning for so much time with so many wasted reads.
fn earned(time: Duration, wasted_reads: u64) -> Duration {
    let for_reads = CPU_PER_WASTED_READ * wasted_reads.try_into().unwrap_or(u32::MAX);
    (time / CPU_PARTS_WITHOUT_WASTE + for_reads).min(time / CPU_PARTS)
}

/// How long units are not read because there is no room for the next one: short at first, as a lookup holds a replaced group for the time
/// of one probe; longer and longer where nothing tells when there will be.
#[derive(Default)]
struct LoadPause {
    /// Zero while there is none.
    length: Duration,
    ends: Option<Instant>,
}

/// The first pause.
const LOAD_PAUSE_MIN: Duration = Duration::from_micros(50);

impl LoadPause {
    fn lengthen(&mut self) {
        self.length = (self.length * 2).clamp(LOAD_PAUSE_MIN, NAP_MAX);
        self.ends = Some(Instant::now() + self.length);
    }

    fn end(&mut self) {
        *self = Self::default();
    }

    /// How long nothing must be read.
    fn left(&self) -> Duration {
        self.ends.map_or(Duration::ZERO, |ends| ends.saturating_duration_since(Instant::now()))
    }

    /// Whether it would be over by now if a lookup were all that is waited for.
    fn is_long(&self) -> bool {
        self.length >= NAP_MAX
    }
}

/// Who waits for the thread to have nothing to do.
#[derive(Default)]
struct IdleWaiters {
    asked: u64,
    answered: u64,
}

/// What the manager and its thread share.
pub(crate) struct Shared {
    registry: Mutex<Registry>,
    pub visits: Arc<VisitBuffer>,
    idle_waiters: Mutex<IdleWaiters>,
    idle: Condvar,
    stop: AtomicBool,
    thread_panics: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Shared {
    pub(crate) fn new(registry: Registry, visits: Arc<VisitBuffer>) -> Self {
        Self {
            registry: Mutex::new(registry),
            visits,
            idle_waiters: Mutex::default(),
            idle: Condvar::new(),
            stop: AtomicBool::new(false),
            thread_panics: AtomicU64::new(0),
        }
    }

    pub(crate) fn registry(&self) -> MutexGuard<'_, Registry> {
        lock(&self.registry)
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.visits.close();
    }

    /// Rounds of the thread that panicked.
    pub(crate) fn thread_panics(&self) -> u64 {
        self.thread_panics.load(Ordering::Relaxed)
    }

    /// Works until it is stopped.
    pub(crate) fn run(&self) {
        let mut nap = NAP_MIN;
        let (mut cpu_budget, mut pause) = (CpuBudget::new(), LoadPause::default());
        while !self.stop.load(Ordering::Acquire) {
            let asked = lock(&self.idle_waiters).asked;
            // Sources are contained where they are called; this is for our own mistakes: better a stale plan than none.
            let round = catch_unwind(AssertUnwindSafe(|| self.round(&mut cpu_budget, &mut pause)));
            let worked = round.unwrap_or_else(|_| {
                self.thread_panics.fetch_add(1, Ordering::Relaxed);
                log::error!("the filter manager's thread panicked and goes on");
                false
            });
            if worked {
                nap = NAP_MIN;
                continue;
            }
            let is_paused = pause.ends.is_some();
            if !is_paused || pause.is_long() {
                lock(&self.idle_waiters).answered = asked;
                self.idle.notify_all();
            }
            let rest = cpu_budget.rest(self.wasted_reads());
            let longest = if is_paused { pause.left().max(LOAD_PAUSE_MIN) } else { NAP_MAX };
            if rest.is_zero() {
                self.visits.set_consumer_naps(true);
                std::thread::park_timeout(nap.min(longest));
                self.visits.set_consumer_naps(false);
                nap = (nap * 2).min(NAP_MAX);
            } else {
                std::thread::park_timeout(rest.clamp(REST_MIN, NAP_MAX).min(longest));
            }
        }
        lock(&self.idle_waiters).answered = u64::MAX;
        self.idle.notify_all();
    }

    /// Waits until a round that began after this call found nothing to do.
    pub(crate) fn wait_idle(&self, thread: &std::thread::Thread, timeout: Duration) -> bool {
        let mut idle_waiters = lock(&self.idle_waiters);
        idle_waiters.asked += 1;
        let asked = idle_waiters.asked;
        thread.unpark();
        let waited =
            self.idle.wait_timeout_while(idle_waiters, timeout, |idle_waiters| idle_waiters.answered < asked);
        !waited.unwrap_or_else(|poisoned| poisoned.into_inner()).1.timed_out()
    }

    fn wasted_reads(&self) -> u64 {
        self.visits.totals().wasted_reads
    }

    /// Whether somebody waits for the thread to have nothing to do: then it does not spare itself.
    fn is_awaited(&self) -> bool {
        let idle_waiters = lock(&self.idle_waiters);
        idle_waiters.asked > idle_waiters.answered
    }

    /// One turn of everything; whether there was something to do.
    fn round(&self, cpu_budget: &mut CpuBudget, pause: &mut LoadPause) -> bool {
        let mut worked = self.is_awaited() || cpu_budget.rest(self.wasted_reads()).is_zero();
        if worked {
            let begun = Instant::now();
            worked = self.learn();
            cpu_budget.worked(begun.elapsed());
        }
        self.registry().fit(0);
        for _ in 0..REBALANCES_PER_ROUND {
            worked |= self.registry().rebalance();
        }
        self.registry().maintain_negative_cache();
        if !pause.left().is_zero() {
            return worked;
        }
        for _ in 0..LOADS_PER_ROUND {
            let next = self.registry().next_job();
            match next {
                NextJob::Read(job) => self.load(job),
                NextJob::Blocked => {
                    pause.lengthen();
                    return worked;
                }
                NextJob::None => {
                    pause.end();
                    return worked;
                }
            }
            pause.end();
            worked = true;
        }
        worked
    }

    /// Takes in some batches; whether there were any.
    fn learn(&self) -> bool {
        for taken in 0..BATCHES_PER_ROUND {
            let Some(batch) = self.visits.take() else {
                self.visits.sample_more();
                return taken > 0;
            };
            self.registry().take_in(&batch);
            self.visits.give_back(batch);
        }
        true
    }

    fn load(&self, mut job: Job) {
        let read = catch_unwind(AssertUnwindSafe(|| job.read(&|| self.registry())));
        let error = read.unwrap_or_else(|_| {
            Some(UnitReadError::Io(std::io::Error::other("the source of filter units panicked")))
        });
        self.registry().finish(&job, error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learning_takes_more_time_where_more_reads_are_wasted_up_to_its_share() {
        let second = Duration::from_secs(1);
        assert_eq!(earned(second, 0), second / 1000);
        assert_eq!(earned(second, 200), second / 500);
        assert_eq!(earned(second, 1_000_000), second / 50);
        assert_eq!(earned(second, u64::MAX), second / 50);
    }
}
