//! How visits get from lookups to the policy: full batches go through a bounded lock-free queue and come back empty
//! through another.
//!
//! The pool of batches follows the budget. A thread fills a batch of its own; when there is no empty one to go on with,
//! because lookups make visits faster than the background thread may take them in, it makes one of two: of its own and of the
//! oldest full one it throws half of the visits away, each with the same chance, and goes on to note one visit in twice as many. A
//! batch says how many visits each of its visits stands for, so the policy's counts stay unbiased whatever the rate and however
//! bursty it is; totals are counted apart and exact. When the queue runs empty, threads are told to note more again.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;

use fastrand::Rng;

use super::batch::{PERIOD_LOG2_MAX, VisitBatch, batch_bytes, is_one_in};
use super::packed_visit::{PackedVisit, SEGMENTS_MAX, VisitedTable};
use crate::memory::allocated_bytes;
use crate::visits::counters::{ThreadTotals, Totals};
use crate::visits::rings::Rings;
use crate::{MemoryBudget, MemoryKind, Outcome, OutcomeTotals, Reservation};

/// Share of the budget that buffers take.
const BUDGET_SHARE: usize = 256;
const POOL_BYTES_MAX: usize = 256 << 10;
/// A small budget gives more for them, up to this share: a handful of batches must go round.
const SMALL_BUDGET_SHARE: usize = 32;
const POOL_BYTES_MIN: usize = 2048;
const BATCHES_AIMED_AT: usize = 32;
const BATCH_VISITS_MAX: usize = 128;
const BATCH_VISITS_MIN: usize = 8;

/// The queues between lookups and the background thread.
pub(crate) struct VisitBuffer {
    full: Rings<VisitBatch>,
    empty: Rings<VisitBatch>,
    /// Bytes of their places.
    places_bytes: AtomicUsize,
    /// What a new batch has room for. Those from before the budget moved have another size, until they come back.
    batch_visits: AtomicUsize,
    /// Batches that there should be at most. More that threads still hold go as they come back.
    batches_wanted: AtomicUsize,
    /// Batches there are, in whatever hands, and their bytes.
    batches: AtomicUsize,
    batches_bytes: AtomicUsize,
    totals: Totals,
    dropped_visits: AtomicU64,
    /// What new batches are filled with: one visit in 2^this.
    period_log2: AtomicU8,
    /// Threads that ever noted something: seeds their generators.
    threads: AtomicU64,
    /// What each keeps, the host's part included; what the budget pays of that for all of them, and what it had no room for.
    thread_bytes: usize,
    paid_bytes: AtomicUsize,
    unpaid_bytes: AtomicUsize,
    /// The manager is gone; threads drop this buffer when they next use another.
    closed: AtomicBool,
    /// Takes batches in; woken once per nap when they pile up.
    consumer: OnceLock<Thread>,
    consumer_naps: AtomicBool,
    budget: MemoryBudget,
}

/// Bytes of the buffers under a budget.
fn pool_bytes(budget_bytes: usize) -> usize {
    let least = POOL_BYTES_MIN.min(budget_bytes / SMALL_BUDGET_SHARE);
    (budget_bytes / BUDGET_SHARE).clamp(least, POOL_BYTES_MAX)
}

/// A batch has a place in both queues: itself and the queue's stamp.
const PLACE_BYTES: usize = 2 * (size_of::<VisitBatch>() + size_of::<usize>());

/// Places are given up where no more than one part in this is needed: budgets that move a little cost nothing.
const FEWER_PLACES: usize = 4;

/// Sizes of the buffers under a budget.
struct PoolShape {
    batch_visits: usize,
    places: usize,
}

impl PoolShape {
    fn under(budget_bytes: usize) -> Self {
        let pool_bytes = pool_bytes(budget_bytes);
        let batch_visits = (pool_bytes / BATCHES_AIMED_AT / size_of::<PackedVisit>())
            .clamp(BATCH_VISITS_MIN, BATCH_VISITS_MAX);
        Self { batch_visits, places: pool_bytes / (batch_bytes(batch_visits) + PLACE_BYTES) }
    }
}

impl VisitBuffer {
    /// Queues and batches for a budget of this size; without any if there is no room.
    /// `host_thread_bytes`: what the host keeps for each thread that looks up.
    pub(crate) fn new(budget: &MemoryBudget, host_thread_bytes: usize) -> Self {
        let visits = Self {
            full: Rings::new(),
            empty: Rings::new(),
            places_bytes: AtomicUsize::new(0),
            batch_visits: AtomicUsize::new(0),
            batches_wanted: AtomicUsize::new(0),
            batches: AtomicUsize::new(0),
            batches_bytes: AtomicUsize::new(0),
            totals: Totals::default(),
            dropped_visits: AtomicU64::new(0),
            period_log2: AtomicU8::new(0),
            threads: AtomicU64::new(0),
            thread_bytes: ThreadEntry::BYTES + host_thread_bytes,
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

    /// Makes the buffers what they should be under a budget of `budget_bytes`, as far as the budget has room for it. Batches that threads
    /// hold stay until they look up again or end. One caller at a time.
    pub(crate) fn fit(&self, budget_bytes: usize) {
        let PoolShape { batch_visits, places } = PoolShape::under(budget_bytes);
        self.batch_visits.store(batch_visits, Ordering::Relaxed);
        self.fit_places(places);
        let wanted = (pool_bytes(budget_bytes) / batch_bytes(batch_visits)).min(self.empty.places());
        self.batches_wanted.store(wanted, Ordering::Relaxed);
        self.reclaim();
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

    /// Brings the queues to about `places` places: in few steps to the most there can be, and back when most of them are too many.
    fn fit_places(&self, places: usize) {
        let had = self.empty.places();
        let fewer = had > 0 && places <= had / FEWER_PLACES;
        let added = if fewer { places } else { places.saturating_sub(had) };
        if !fewer && places < (2 * had).max(1) {
            return;
        }
        let reservation = self.budget.try_reserve(MemoryKind::Buffers, added * PLACE_BYTES);
        let places = if reservation.is_some() { added } else { 0 };
        for queue in [&self.empty, &self.full] {
            if fewer {
                queue.replace_places(places);
            } else if places > 0 {
                queue.add_places(places);
            }
        }
        if let Some(reservation) = reservation {
            self.places_bytes.fetch_add(reservation.bytes(), Ordering::Relaxed);
            reservation.hand_over(MemoryKind::Buffers);
        }
    }

    /// Frees places that were too many and that nobody uses any more. One caller at a time.
    pub(crate) fn reclaim(&self) {
        for queue in [&self.empty, &self.full] {
            let places = queue.reclaim(|batch| self.put(queue, batch));
            let bytes = places * PLACE_BYTES / 2;
            self.places_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.budget.release(MemoryKind::Buffers, bytes);
        }
    }

    /// Puts a batch into a queue, and gives it up if there is no place for it, as the budget became smaller.
    fn put(&self, queue: &Rings<VisitBatch>, batch: VisitBatch) {
        if let Err(batch) = queue.push(batch) {
            self.dropped_visits.fetch_add(batch.visits.len() as u64, Ordering::Relaxed);
            self.discard(batch);
        }
    }

    fn has_too_many(&self) -> bool {
        self.batches.load(Ordering::Relaxed) > self.batches_wanted.load(Ordering::Relaxed)
    }

    /// A new batch, if the budget has room for it; there must be a place.
    fn make_batch(&self) -> Option<VisitBatch> {
        let visits = self.batch_visits.load(Ordering::Relaxed);
        let reservation = self.budget.try_reserve(MemoryKind::Buffers, batch_bytes(visits))?;
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.batches_bytes.fetch_add(reservation.bytes(), Ordering::Relaxed);
        reservation.hand_over(MemoryKind::Buffers);
        Some(VisitBatch::with_room_for(visits))
    }

    fn discard(&self, batch: VisitBatch) {
        let bytes = batch.bytes();
        drop(batch);
        self.batches.fetch_sub(1, Ordering::Relaxed);
        self.batches_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.budget.release(MemoryKind::Buffers, bytes);
    }

    /// Notes a visit. No lock, no wait, no allocation but for a thread's first visit and that at which the budget pays for what it keeps,
    /// if it had no room at first.
    #[inline]
    pub(crate) fn record(self: &Arc<Self>, base: VisitedTable, segment: u32, outcome: Outcome) {
        let event = PackedVisit::new(base, segment % SEGMENTS_MAX as u32, outcome);
        let noted = THREAD.try_with(|thread| {
            let mut hubs = thread.borrow_mut();
            match hubs.iter_mut().find(|entry| Arc::ptr_eq(&entry.visits, self)) {
                Some(entry) => entry.record(event, outcome),
                None => {
                    hubs.retain(|entry| !entry.visits.closed.load(Ordering::Relaxed));
                    hubs.push(ThreadEntry::new(self));
                    hubs.last_mut().expect("just pushed").record(event, outcome);
                }
            }
        });
        if noted.is_err() {
            self.totals.add(outcome); // a lookup in a destructor of thread-local state
            self.dropped_visits.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Hands on what this thread has noted so far; `false` if there was no empty batch to go on with.
    pub(crate) fn flush_thread(self: &Arc<Self>) -> bool {
        let flushed = THREAD.try_with(|thread| {
            let mut hubs = thread.borrow_mut();
            let entry = hubs.iter_mut().find(|entry| Arc::ptr_eq(&entry.visits, self));
            entry.is_none_or(|entry| entry.batch.visits.is_empty() || entry.swap())
        });
        flushed.unwrap_or(true)
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
    fn wake_if_piled_up(&self) {
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

    /// How many of them units should make room for. Threads keep what they do whether or not the budget pays; but most of it is for units.
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
        // Whoever holds a batch holds the buffer, so all of them are back.
        let bytes = *self.batches_bytes.get_mut() + *self.places_bytes.get_mut();
        self.budget.release(MemoryKind::Buffers, bytes);
    }
}

/// What a thread keeps for one buffer.
struct ThreadEntry {
    visits: Arc<VisitBuffer>,
    batch: VisitBatch,
    rng: Rng,
    totals: Option<Arc<ThreadTotals>>,
    /// For what the thread keeps. `None`: it was unpaid when it asked last.
    reservation: Option<Reservation>,
}

/// Part of the budget that pays at most for what threads keep.
const THREADS_SHARE: usize = 4;
/// Room for entries in a vector's first allocation.
const ENTRIES_AT_FIRST: usize = 4;
/// Bytes of the list of pointers that a thread borrows (`arc-swap`'s), with its alignment; kept for the next thread when one ends.
const BORROWED_BYTES: usize = 320;

thread_local! {
    /// Nearly always one entry: one manager serves a process.
    static THREAD: RefCell<Vec<ThreadEntry>> = const { RefCell::new(Vec::new()) };
}

impl ThreadEntry {
    /// Bytes that this crate keeps for a thread.
    const BYTES: usize =
        Totals::THREAD_BYTES + BORROWED_BYTES + allocated_bytes(ENTRIES_AT_FIRST * size_of::<Self>());

    fn new(visits: &Arc<VisitBuffer>) -> Self {
        let mut entry = Self {
            visits: visits.clone(),
            batch: visits.empty.pop().unwrap_or_default(),
            rng: Rng::with_seed(visits.threads.fetch_add(1, Ordering::Relaxed)),
            totals: None,
            reservation: None,
        };
        visits.unpaid_bytes.fetch_add(visits.thread_bytes, Ordering::Relaxed);
        entry.pay();
        entry
    }

    /// Takes what the thread keeps from the budget, and gives it counters of its own then.
    fn pay(&mut self) {
        let visits = &self.visits;
        if visits.payable_bytes(visits.budget.budget_bytes()) < visits.thread_bytes {
            return;
        }
        self.reservation = visits.budget.try_reserve(MemoryKind::Buffers, visits.thread_bytes);
        if self.reservation.is_some() {
            visits.unpaid_bytes.fetch_sub(visits.thread_bytes, Ordering::Relaxed);
            visits.paid_bytes.fetch_add(visits.thread_bytes, Ordering::Relaxed);
            self.totals = Some(visits.totals.enter());
        }
    }

    #[inline]
    fn record(&mut self, event: PackedVisit, outcome: Outcome) {
        match &self.totals {
            Some(totals) => totals.add_owned(outcome),
            None => self.visits.totals.add(outcome),
        }
        if self.batch.is_full() {
            self.hand_on();
        }
        let log2 = self.batch.period_log2;
        if log2 != 0 && !is_one_in(log2, &mut self.rng) {
            return;
        }
        if !self.batch.is_full() {
            self.batch.visits.push(event);
        } else {
            self.visits.dropped_visits.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Swaps the batch for an empty one, or makes room in it if there is none. Gives it back if there are too many for the budget.
    #[cold]
    fn hand_on(&mut self) {
        if self.swap() || self.batch.visits.capacity() == 0 {
            return;
        }
        if self.visits.has_too_many() {
            self.visits.put(&self.visits.full, std::mem::take(&mut self.batch));
        } else {
            self.downsample();
        }
    }

    /// Swaps the batch for an empty one; `false` if there is none.
    fn swap(&mut self) -> bool {
        let Some(mut empty) = self.visits.empty.pop() else { return false };
        if self.reservation.is_none() {
            self.pay(); // units made room meanwhile, or the budget grew
        }
        empty.period_log2 = self.visits.period_log2.load(Ordering::Relaxed);
        let full = std::mem::replace(&mut self.batch, empty);
        if full.visits.capacity() > 0 {
            self.visits.put(&self.visits.full, full);
        }
        self.visits.wake_if_piled_up();
        true
    }

    /// Makes room in the full batch: one of this and the oldest batch that waits.
    fn downsample(&mut self) {
        let mut old = self.visits.full.pop();
        let (own_log2, old_log2) =
            (self.batch.period_log2, old.as_ref().map_or(self.batch.period_log2, |old| old.period_log2));
        let log2 = own_log2.max(old_log2) + u8::from(own_log2 == old_log2);
        let log2 = log2.min(PERIOD_LOG2_MAX);
        self.visits.period_log2.fetch_max(log2, Ordering::Relaxed);
        self.batch.downsample_to(log2, &mut self.rng);
        let Some(mut old) = old.take() else { return };
        old.downsample_to(log2, &mut self.rng);
        self.batch.fill_from(&mut old);
        let done = if self.batch.is_full() { std::mem::replace(&mut self.batch, old) } else { old };
        let queue = if done.visits.is_empty() { &self.visits.empty } else { &self.visits.full };
        self.visits.put(queue, done);
    }
}

impl Drop for ThreadEntry {
    fn drop(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        if batch.visits.capacity() > 0 {
            self.visits.put(&self.visits.full, batch);
        }
        let VisitBuffer { paid_bytes, unpaid_bytes, thread_bytes, .. } = &*self.visits;
        let kept = if self.reservation.is_some() { paid_bytes } else { unpaid_bytes };
        kept.fetch_sub(*thread_bytes, Ordering::Relaxed);
        if let Some(totals) = &self.totals {
            self.visits.totals.leave(totals);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SegmentRef;
    use crate::visits::TABLES_MAX;

    #[test]
    fn an_event_keeps_what_is_put_in() {
        for (table, generation, segment, outcome) in [
            (0, 0, 0, Outcome::Rejected),
            (TABLES_MAX as u32 - 1, u16::MAX, SEGMENTS_MAX as u32 - 1, Outcome::TruePositive),
            (5, 7, 9, Outcome::WastedRead),
            (6, 7, 9, Outcome::RejectedByLast),
        ] {
            let event = PackedVisit::new(VisitedTable::new(table, generation), segment, outcome);
            assert_eq!(event.segment(), SegmentRef { table, segment });
            assert_eq!((event.generation(), event.outcome()), (generation, outcome));
        }
    }

    fn drain(visits: &VisitBuffer, mut take_in: impl FnMut(&VisitBatch)) {
        while let Some(batch) = visits.take() {
            take_in(&batch);
            visits.give_back(batch);
        }
    }

    /// Visits to each of `parts` equal parts of a scan over `segments` segments, as a consumer that takes in one batch for
    /// every `visits_per_batch` visits (`None`: at the end) would count them. Gives the visits taken in as well.
    fn scan(segments: u32, parts: u32, visits_per_batch: Option<u32>) -> (Vec<f64>, u64) {
        let visits = Arc::new(VisitBuffer::new(&MemoryBudget::new(1 << 20), 0));
        let base = VisitedTable::new(1, 1);
        let (mut counts, mut taken) = (vec![0.0; parts as usize], 0);
        let mut take_in = |batch: &VisitBatch| {
            taken += batch.visits().len() as u64;
            for event in batch.visits() {
                let part = event.segment().segment / (segments / parts);
                counts[part as usize] += f64::from(batch.sample_weight());
            }
        };
        for segment in 0..segments {
            visits.record(base, segment, Outcome::Rejected);
            if visits_per_batch.is_some_and(|visits| segment % visits == 0)
                && let Some(batch) = visits.take()
            {
                take_in(&batch);
                visits.give_back(batch);
            }
        }
        visits.flush_thread();
        drain(&visits, &mut take_in);
        visits.flush_thread(); // there was no empty batch to hand the last one on for
        drain(&visits, &mut take_in);
        assert_eq!(visits.totals().rejected, u64::from(segments));
        assert_eq!(visits.dropped_visits(), 0);
        (counts, taken)
    }

    #[test]
    fn a_scan_faster_than_the_policy_is_sampled_evenly() {
        let (segments, parts) = (1 << 22, 16);
        let expected = f64::from(segments / parts);
        for visits_per_batch in [100, 1000, 10_000] {
            let (counts, taken) = scan(segments, parts, Some(visits_per_batch));
            assert!(taken < u64::from(segments) / 2, "it was not too fast");
            for count in &counts {
                // Each part has at least a third of its share of samples: Poisson, six standard deviations.
                let samples = taken as f64 / f64::from(parts) / 3.0;
                let off = (count / expected - 1.0).abs();
                assert!(off < 6.0 / samples.sqrt(), "{visits_per_batch}: {off} in {counts:?}");
            }
        }
    }

    #[test]
    fn a_burst_that_nobody_takes_in_is_sampled_evenly() {
        let (segments, parts) = (1 << 20, 8);
        let (counts, taken) = scan(segments, parts, None);
        for count in &counts {
            let off = (count / f64::from(segments / parts) - 1.0).abs();
            let samples = taken as f64 / f64::from(parts) / 3.0;
            assert!(taken < 2048 && off < 6.0 / samples.sqrt(), "{off} of {taken}: {counts:?}");
        }
    }

    #[test]
    fn buffers_stay_in_their_share_of_the_budget() {
        for budget_bytes in [0, 1000, 64 << 10, 2_500_000, 1 << 30] {
            let budget = MemoryBudget::new(budget_bytes);
            let visits = Arc::new(VisitBuffer::new(&budget, 100));
            assert!(budget.used_bytes_of(MemoryKind::Buffers) <= pool_bytes(budget_bytes), "{budget_bytes}");
            visits.record(VisitedTable::new(1, 1), 3, Outcome::Rejected);
            let of_threads = (ThreadEntry::BYTES + 100).min(budget_bytes / THREADS_SHARE);
            let most = pool_bytes(budget_bytes) + of_threads;
            assert!(budget.used_bytes_of(MemoryKind::Buffers) <= most, "{budget_bytes}");
            assert_eq!(visits.totals().rejected, 1);
        }
    }
}
