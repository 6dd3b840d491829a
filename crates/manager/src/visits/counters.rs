//! How often visits ended which way: exact at any time, without a shared cache line between lookup threads.
//!
//! Each thread adds to counters of its own, which only it writes; a reading sums over the threads. A thread that ends
//! leaves its counts behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::Outcome;

/// Lookups' visits to segments by their end, since the manager was made. Exact: every recorded visit is in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutcomeTotals {
    /// Visits that resident units ended.
    pub rejected: u64,
    /// Visits that read a data block for nothing.
    pub wasted_reads: u64,
    /// Visits that found the key.
    pub true_positives: u64,
    /// Visits that the units let pass, but that were not to read a data block.
    pub not_read: u64,
    /// Blocks that lookups had to read because no cache had them, as the host told.
    pub block_reads: u64,
}

impl OutcomeTotals {
    /// All visits.
    pub fn visits(&self) -> u64 {
        self.rejected + self.wasted_reads + self.true_positives + self.not_read
    }
}

/// Kinds of [`Outcome`].
const OUTCOMES: usize = 5;
/// What is counted: those, and block reads behind them.
const COUNTS: usize = OUTCOMES + 1;
pub(super) const BLOCK_READS: usize = OUTCOMES;

/// One thread's counts, in a cache line of their own. In one, not in the two that a processor may fetch together: with many threads they
/// add up.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct ThreadTotals {
    counts: [AtomicU64; COUNTS],
}

impl ThreadTotals {
    /// Adds to the count of an outcome, or to [`BLOCK_READS`]. Only the owning thread may call this.
    #[inline]
    pub(super) fn add_owned(&self, at: usize, more: u64) {
        let count = &self.counts[at];
        count.store(count.load(Ordering::Relaxed) + more, Ordering::Relaxed);
    }

    fn read(&self) -> [u64; COUNTS] {
        std::array::from_fn(|at| self.counts[at].load(Ordering::Relaxed))
    }
}

#[derive(Default)]
struct Threads {
    live: Vec<Arc<ThreadTotals>>,
    ended: [u64; COUNTS],
}

/// All threads' counts.
#[derive(Default)]
pub(crate) struct Totals {
    threads: Mutex<Threads>,
    /// For threads that end and have no counters any more.
    shared: ThreadTotals,
}

impl Totals {
    /// Bytes that a thread's counters take.
    pub(crate) const THREAD_BYTES: usize =
        size_of::<ThreadTotals>() + 2 * align_of::<ThreadTotals>() + 2 * size_of::<usize>();

    /// Counters for a thread.
    pub(crate) fn enter(&self) -> Arc<ThreadTotals> {
        let totals = Arc::new(ThreadTotals::default());
        self.threads.lock().live.push(totals.clone());
        totals
    }

    /// The thread ends: its counts stay.
    pub(crate) fn leave(&self, totals: &Arc<ThreadTotals>) {
        let mut threads = self.threads.lock();
        if let Some(at) = threads.live.iter().position(|live| Arc::ptr_eq(live, totals)) {
            threads.live.swap_remove(at);
            let counts = totals.read();
            threads.ended.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }

    /// Adds to a count for a thread without counters.
    pub(super) fn add(&self, at: usize, more: u64) {
        self.shared.counts[at].fetch_add(more, Ordering::Relaxed);
    }

    /// The sums.
    pub(crate) fn read(&self) -> OutcomeTotals {
        let threads = self.threads.lock();
        let mut sum = threads.ended;
        for counts in threads.live.iter().map(|live| live.read()).chain([self.shared.read()]) {
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        OutcomeTotals {
            rejected: sum[Outcome::Rejected as usize] + sum[Outcome::RejectedByLast as usize],
            wasted_reads: sum[Outcome::WastedRead as usize],
            true_positives: sum[Outcome::TruePositive as usize],
            not_read: sum[Outcome::NotRead as usize],
            block_reads: sum[BLOCK_READS],
        }
    }
}
