//! How visits get from lookups to the policy: full batches go through a bounded lock-free queue and come back empty
//! through another.
//!
//! The pool of batches follows the budget. A [thread](super::thread_visits) fills a batch of its own, outside the pool, and moves what is
//! in it to an empty one. When there is none, because lookups make visits faster than the background thread may take them in, it makes
//! one of two: of its own and of the oldest full one it throws half of the visits away, each with the same chance, and goes on to note one
//! visit in twice as many. A batch says how many visits each of its visits stands for, so the policy's counts stay unbiased whatever the
//! rate and however bursty it is; totals are counted apart and exact. When the queue runs empty, threads are told to note more again.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::thread::Thread;

use crossbeam_queue::ArrayQueue;

use super::batch::{VisitBatch, batch_bytes};
use super::counters::Totals;
use super::packed_visit::PackedVisit;
use crate::budget::{MemoryBudget, MemoryKind};
use crate::visits::OutcomeTotals;

/// Share of the budget that buffers take.
const BUDGET_SHARE: usize = 256;
/// Learning takes in what it has time for, and threads thin out the rest: a longer queue would only make visits old.
const POOL_BYTES_MAX: usize = 32 << 10;
/// A small budget gives more for them, up to this share: a handful of batches must go round.
const SMALL_BUDGET_SHARE: usize = 32;
const POOL_BYTES_MIN: usize = 2048;
/// Part of the budget that pays at most for what threads keep: they keep it whether or not the budget pays.
pub(super) const THREADS_SHARE: usize = 128;
/// Places of a queue: the pool never has as many batches.
const BATCHES_MAX: usize = 32;
const BATCH_VISITS_MAX: usize = 128;
const BATCH_VISITS_MIN: usize = 8;

/// The queues between lookups and the background thread.
pub(crate) struct VisitBuffer {
    pub(super) full: ArrayQueue<VisitBatch>,
    pub(super) empty: ArrayQueue<VisitBatch>,
    /// What a new batch has room for. Those from before the budget moved have another size, until they come back.
    batch_visits: AtomicUsize,
    /// Batches that there should be at most. More go as they come back.
    batches_wanted: AtomicUsize,
    /// Batches of the pool, in whatever hands.
    batches: AtomicUsize,
    pub(super) totals: Totals,
    pub(super) dropped_visits: AtomicU64,
    /// What new batches are filled with: one visit in 2^this.
    pub(super) period_log2: AtomicU8,
    /// Threads that ever noted something: seeds their generators.
    pub(super) threads: AtomicU64,
    /// What the budget pays of all that threads keep, and what it had no room for.
    pub(super) paid_bytes: AtomicUsize,
    pub(super) unpaid_bytes: AtomicUsize,
    /// The manager is gone; threads drop this buffer when they next use another.
    pub(super) closed: AtomicBool,
    /// Takes batches in; woken once per nap when they pile up.
    consumer: OnceLock<Thread>,
    consumer_naps: AtomicBool,
    pub(crate) budget: MemoryBudget,
}

/// Bytes of the buffers under a budget.
pub(crate) fn pool_bytes(budget_bytes: usize) -> usize {
    let least = POOL_BYTES_MIN.min(budget_bytes / SMALL_BUDGET_SHARE);
    (budget_bytes / BUDGET_SHARE).clamp(least, POOL_BYTES_MAX)
}

/// A batch has a place in both queues: itself and the queue's stamp.
const PLACES_BYTES: usize = 2 * (size_of::<VisitBatch>() + size_of::<usize>());

/// Bytes of a batch of the pool, which pays for its places.
fn pooled_bytes(visits: usize) -> usize {
    batch_bytes(visits) + PLACES_BYTES
}

impl VisitBuffer {
    /// Queues and batches for a budget of this size; without any if there is no room.
    pub(crate) fn new(budget: &MemoryBudget) -> Self {
        let visits = Self {
            full: ArrayQueue::new(BATCHES_MAX),
            empty: ArrayQueue::new(BATCHES_MAX),
            batch_visits: AtomicUsize::new(0),
            batches_wanted: AtomicUsize::new(0),
            batches: AtomicUsize::new(0),
            totals: Totals::default(),
            dropped_visits: AtomicU64::new(0),
            period_log2: AtomicU8::new(0),
            threads: AtomicU64::new(0),
            paid_bytes: AtomicUsize::new(0),
            unpaid_bytes: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            consumer: OnceLock::new(),
            consumer_naps: AtomicBool::new(false),
            budget: budget.clone(),
        };
        visits.fit(budget.budget_bytes());
        visits
    }

    /// Makes the buffers what they should be under a budget of `budget_bytes`, as far as the budget has room for it. Threads follow
    /// when they hand on what they noted. One caller at a time.
    pub(crate) fn fit(&self, budget_bytes: usize) {
        let pool_bytes = pool_bytes(budget_bytes);
        let batch_visits =
            (pool_bytes / BATCHES_MAX / size_of::<PackedVisit>()).clamp(BATCH_VISITS_MIN, BATCH_VISITS_MAX);
        let wanted = pool_bytes / pooled_bytes(batch_visits);
        self.batch_visits.store(batch_visits, Ordering::Relaxed);
        self.batches_wanted.store(wanted, Ordering::Relaxed);
        for _ in 0..self.empty.len() {
            let Some(batch) = self.empty.pop() else { break };
            if self.has_too_many() || batch.visits.capacity() != batch_visits {
                self.discard(batch);
            } else {
                self.put(&self.empty, batch);
            }
        }
        while self.batches.load(Ordering::Relaxed) < wanted {
            let Some(batch) = self.make_batch() else { return };
            self.put(&self.empty, batch);
        }
    }

    /// Puts a batch into a queue, and gives it up if there is no place for it.
    pub(super) fn put(&self, queue: &ArrayQueue<VisitBatch>, batch: VisitBatch) {
        if let Err(batch) = queue.push(batch) {
            self.dropped_visits.fetch_add(batch.visits.len() as u64, Ordering::Relaxed);
            self.discard(batch);
        }
    }

    /// Room for visits in the batch of a thread: none where there is no pool.
    pub(super) fn visits_of_a_thread(&self) -> usize {
        if self.batches_wanted.load(Ordering::Relaxed) > 0 {
            self.batch_visits.load(Ordering::Relaxed)
        } else {
            0
        }
    }

    fn has_too_many(&self) -> bool {
        self.batches.load(Ordering::Relaxed) > self.batches_wanted.load(Ordering::Relaxed)
    }

    /// A new batch, if the budget has room for it.
    fn make_batch(&self) -> Option<VisitBatch> {
        let visits = self.batch_visits.load(Ordering::Relaxed);
        let reservation = self.budget.try_reserve(MemoryKind::Buffers, pooled_bytes(visits))?;
        self.batches.fetch_add(1, Ordering::Relaxed);
        reservation.forget(MemoryKind::Buffers);
        Some(VisitBatch::with_room_for(visits))
    }

    fn discard(&self, batch: VisitBatch) {
        let bytes = pooled_bytes(batch.visits.capacity());
        drop(batch);
        self.batches.fetch_sub(1, Ordering::Relaxed);
        self.budget.release(MemoryKind::Buffers, bytes);
    }

    /// A full batch, if there is one; give it back with [`give_back`](Self::give_back).
    pub(crate) fn take(&self) -> Option<VisitBatch> {
        self.full.pop()
    }

    pub(crate) fn give_back(&self, mut batch: VisitBatch) {
        batch.visits.clear();
        if self.has_too_many() {
            return self.discard(batch);
        }
        if batch.visits.capacity() != self.batch_visits.load(Ordering::Relaxed)
            && let Some(of_this_size) = self.make_batch()
        {
            self.discard(std::mem::replace(&mut batch, of_this_size));
        }
        self.put(&self.empty, batch);
    }

    /// Who takes batches in.
    pub(crate) fn set_consumer(&self, thread: Thread) {
        let _ = self.consumer.set(thread); // one thread per buffer
    }

    /// The consumer naps from now on, or does no longer: whether batches that pile up may wake it.
    pub(crate) fn set_consumer_naps(&self, naps: bool) {
        self.consumer_naps.store(naps, Ordering::Relaxed);
    }

    /// A nap ends early when half of the batches wait: a system call then, for a nap, not for a visit. Not while visits are sampled: they
    /// come faster than they are taken in anyhow, and one lookup in a hundred would make that call.
    pub(super) fn wake_if_piled_up(&self) {
        if self.period_log2.load(Ordering::Relaxed) == 0
            && self.full.len() * 2 >= self.batches.load(Ordering::Relaxed)
            && self.consumer_naps.swap(false, Ordering::Relaxed)
            && let Some(consumer) = self.consumer.get()
        {
            consumer.unpark();
        }
    }

    /// Has threads note twice as many of their visits, if it is not all of them.
    pub(crate) fn sample_more(&self) {
        let more = |log2: u8| log2.checked_sub(1);
        let _ = self.period_log2.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more); // all already
    }

    /// Visits that each one noted now stands for.
    pub(crate) fn sample_weight(&self) -> u32 {
        1 << self.period_log2.load(Ordering::Relaxed)
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn totals(&self) -> OutcomeTotals {
        self.totals.read()
    }

    /// Bytes that threads keep and that the budget had no room for when they asked last.
    pub(crate) fn unpaid_bytes(&self) -> usize {
        self.unpaid_bytes.load(Ordering::Relaxed)
    }

    /// How many of them units should make room for: for some threads, where there is room for one.
    pub(crate) fn payable_bytes(&self, budget_bytes: usize) -> usize {
        let left = (budget_bytes / THREADS_SHARE).saturating_sub(self.paid_bytes.load(Ordering::Relaxed));
        self.unpaid_bytes().min(left)
    }

    pub(crate) fn dropped_visits(&self) -> u64 {
        self.dropped_visits.load(Ordering::Relaxed)
    }
}

impl Drop for VisitBuffer {
    fn drop(&mut self) {
        // What holds a batch holds the buffer, so all of them are back.
        while let Some(batch) = self.full.pop().or_else(|| self.empty.pop()) {
            self.discard(batch);
        }
    }
}
