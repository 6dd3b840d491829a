//! What a thread that looks up keeps: a batch in which it notes its visits, and counters.
//!
//! Visits move from a full batch to one of the pool ([`VisitBuffer`]); the thread keeps its own. So the pool's batches go round however
//! many threads there are.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fastrand::Rng;

use super::batch::{PERIOD_LOG2_MAX, VisitBatch, batch_bytes, is_one_in};
use super::counters::{BLOCK_READS, ThreadTotals, Totals};
use super::packed_visit::{PackedVisit, SEGMENTS_MAX, VisitedTable};
use super::visit_buffer::VisitBuffer;
use crate::budget::{MemoryKind, Reservation};
use crate::memory::allocated_bytes;
use crate::visits::Outcome;

/// Bytes of the list of pointers that a thread borrows (`arc-swap`'s), with its alignment; kept for the next thread when one ends.
const BORROWED_BYTES: usize = 320;

thread_local! {
    /// Nearly always one entry: one manager serves a process.
    static THREAD: RefCell<Vec<ThreadVisits>> = const { RefCell::new(Vec::new()) };
    static HOST_BYTES: Cell<usize> = const { Cell::new(0) };
}

/// Tells how many bytes the host keeps for the lookups of the calling thread until it ends. The budget pays for them from the next time on
/// that the thread hands on what it noted.
pub fn set_host_bytes_of_thread(bytes: usize) {
    HOST_BYTES.set(bytes);
}

impl VisitBuffer {
    /// Notes visits to segments of a table. No lock, no wait, no allocation but for a thread's first visit, and at times when its batch is
    /// full.
    #[inline]
    pub(crate) fn record_all(
        self: &Arc<Self>,
        base: VisitedTable,
        visits: impl IntoIterator<Item = (u32, Outcome)>,
    ) {
        let mut visits = visits.into_iter();
        // It fails for a lookup in a destructor of thread-local state.
        let _ = THREAD.try_with(|thread| {
            let mut threads = thread.borrow_mut();
            let known = threads.iter().position(|entry| Arc::ptr_eq(&entry.visits, self));
            let at = known.unwrap_or_else(|| {
                threads.retain(|entry| !entry.visits.closed.load(Ordering::Relaxed));
                threads.reserve_exact(1); // or the first one takes the room of four
                threads.push(ThreadVisits::new(self));
                threads.len() - 1
            });
            let entry = &mut threads[at];
            for (segment, outcome) in &mut visits {
                entry.record(PackedVisit::new(base, segment % SEGMENTS_MAX as u32, outcome), outcome);
            }
        });
        for (_, outcome) in visits {
            self.totals.add(outcome as usize, 1);
            self.dropped_visits.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts blocks that a lookup had to read. No lock, no wait, no allocation.
    pub(crate) fn count_block_reads(self: &Arc<Self>, reads: u64) {
        if self.with_thread(|entry| entry.totals.add_owned(BLOCK_READS, reads)).is_none() {
            self.totals.add(BLOCK_READS, reads);
        }
    }

    /// Uses what this thread keeps; `None` if it noted nothing yet, or ends.
    fn with_thread<T>(self: &Arc<Self>, use_it: impl FnOnce(&mut ThreadVisits) -> T) -> Option<T> {
        let used = THREAD.try_with(|thread| {
            let mut threads = thread.borrow_mut();
            threads.iter_mut().find(|entry| Arc::ptr_eq(&entry.visits, self)).map(use_it)
        });
        used.ok().flatten()
    }

    /// Shows what this thread has noted and what waits to be taken in. What `look` leaves in a batch is still there afterwards.
    pub(crate) fn look_through(self: &Arc<Self>, mut look: impl FnMut(&mut VisitBatch)) {
        self.with_thread(|entry| look(&mut entry.batch));
        for _ in 0..self.full.len() {
            let Some(mut batch) = self.full.pop() else { return };
            look(&mut batch);
            match batch.visits.is_empty() {
                true => self.give_back(batch),
                false => self.put(&self.full, batch),
            }
        }
    }

    /// Hands on what this thread has noted so far; `false` if there was no empty batch for it.
    pub(crate) fn flush_thread(self: &Arc<Self>) -> bool {
        self.with_thread(|entry| entry.batch.visits.is_empty() || entry.hand_on()).unwrap_or(true)
    }
}

/// What a thread keeps for one buffer.
struct ThreadVisits {
    visits: Arc<VisitBuffer>,
    batch: VisitBatch,
    rng: Rng,
    totals: Arc<ThreadTotals>,
    /// What the thread keeps, the host's part included.
    kept_bytes: usize,
    /// For that. `None`: the budget had no room for it when the thread asked last.
    reservation: Option<Reservation>,
}

impl ThreadVisits {
    /// Bytes of a thread in addition to its batch and what the host keeps.
    const BYTES: usize = Totals::THREAD_BYTES + BORROWED_BYTES + allocated_bytes(size_of::<Self>());

    fn new(visits: &Arc<VisitBuffer>) -> Self {
        let mut entry = Self {
            visits: visits.clone(),
            batch: VisitBatch::default(),
            rng: Rng::with_seed(visits.threads.fetch_add(1, Ordering::Relaxed)),
            totals: visits.totals.enter(),
            kept_bytes: 0,
            reservation: None,
        };
        entry.fit();
        entry
    }

    /// Gives the batch the size that the budget allows by now, and pays for what the thread keeps.
    fn fit(&mut self) {
        let batch_visits = self.visits.visits_of_a_thread();
        if self.batch.visits.capacity() != batch_visits {
            self.resize(batch_visits);
        }
        let kept_bytes = Self::BYTES
            + batch_bytes(self.batch.visits.capacity())
            + HOST_BYTES.try_with(Cell::get).unwrap_or(0);
        if kept_bytes != self.kept_bytes {
            self.release();
            self.kept_bytes = kept_bytes;
            self.visits.unpaid_bytes.fetch_add(kept_bytes, Ordering::Relaxed);
        }
        if self.reservation.is_none() {
            self.pay();
        }
    }

    /// Gives the batch room for this many visits. A batch larger than the pool's could never be drained, so its sampling period would never
    /// reset.
    fn resize(&mut self, room: usize) {
        let Self { visits, batch, rng, .. } = self;
        let mut resized = VisitBatch::with_room_for(room);
        if batch.visits.is_empty() {
            resized.period_log2 = visits.period_log2.load(Ordering::Relaxed);
        } else if room > 0 {
            while batch.visits.len() > room && batch.period_log2 < PERIOD_LOG2_MAX {
                batch.downsample_to(batch.period_log2 + 1, rng);
            }
            resized.period_log2 = batch.period_log2;
            resized.fill_from(batch);
        }
        visits.dropped_visits.fetch_add(batch.visits.len() as u64, Ordering::Relaxed);
        *batch = resized;
    }

    /// Takes what the thread keeps from the budget.
    fn pay(&mut self) {
        let visits = &self.visits;
        if visits.payable_bytes(visits.budget.budget_bytes()) < self.kept_bytes {
            return;
        }
        self.reservation = visits.budget.try_reserve(MemoryKind::Buffers, self.kept_bytes);
        if self.reservation.is_some() {
            visits.unpaid_bytes.fetch_sub(self.kept_bytes, Ordering::Relaxed);
            visits.paid_bytes.fetch_add(self.kept_bytes, Ordering::Relaxed);
        }
    }

    /// Gives back what the budget pays for the thread.
    fn release(&mut self) {
        let is_paid = self.reservation.take().is_some();
        let bytes = if is_paid { &self.visits.paid_bytes } else { &self.visits.unpaid_bytes };
        bytes.fetch_sub(self.kept_bytes, Ordering::Relaxed);
    }

    #[inline]
    fn record(&mut self, event: PackedVisit, outcome: Outcome) {
        self.totals.add_owned(outcome as usize, 1);
        if self.batch.is_full() {
            self.make_room();
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

    #[cold]
    fn make_room(&mut self) {
        if self.batch.visits.capacity() > 0 && !self.hand_on() {
            self.downsample();
        }
        self.fit();
    }

    /// Moves what was noted to an empty batch; `false` if there is none.
    fn hand_on(&mut self) -> bool {
        let visits = &self.visits;
        let Some(mut batch) = visits.empty.pop() else { return false };
        batch.period_log2 = self.batch.period_log2;
        batch.fill_from(&mut self.batch);
        visits.put(&visits.full, batch);
        if self.batch.visits.is_empty() {
            self.batch.period_log2 = visits.period_log2.load(Ordering::Relaxed);
        }
        visits.wake_if_piled_up();
        true
    }

    /// Makes room in the full batch: one of this and the oldest batch that waits.
    fn downsample(&mut self) {
        let old = self.visits.full.pop();
        let (own_log2, old_log2) =
            (self.batch.period_log2, old.as_ref().map_or(self.batch.period_log2, |old| old.period_log2));
        let log2 = own_log2.max(old_log2) + u8::from(own_log2 == old_log2);
        let log2 = log2.min(PERIOD_LOG2_MAX);
        self.visits.period_log2.fetch_max(log2, Ordering::Relaxed);
        self.batch.downsample_to(log2, &mut self.rng);
        let Some(mut old) = old else { return };
        old.downsample_to(log2, &mut self.rng);
        old.fill_from(&mut self.batch);
        let queue = if old.visits.is_empty() { &self.visits.empty } else { &self.visits.full };
        self.visits.put(queue, old);
    }
}

impl Drop for ThreadVisits {
    fn drop(&mut self) {
        if !self.batch.visits.is_empty() && !self.hand_on() {
            self.downsample();
        }
        let left = self.batch.visits.len() as u64;
        if left > 0 {
            self.visits.dropped_visits.fetch_add(left, Ordering::Relaxed);
        }
        self.release();
        self.visits.totals.leave(&self.totals);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;
    use crate::budget::MemoryBudget;
    use crate::visits::visit_buffer::{THREADS_SHARE, pool_bytes};

    fn drain(visits: &VisitBuffer, mut take_in: impl FnMut(&VisitBatch)) {
        while let Some(batch) = visits.take() {
            take_in(&batch);
            visits.give_back(batch);
        }
    }

    /// Visits to each of `parts` equal parts of a scan over `segments` segments, as a consumer that takes in one batch for
    /// every `visits_per_batch` visits (`None`: at the end) would count them. Gives the visits taken in as well.
    fn scan(segments: u32, parts: u32, visits_per_batch: Option<u32>) -> (Vec<f64>, u64) {
        let visits = Arc::new(VisitBuffer::new(&MemoryBudget::new(1 << 20)));
        let base = VisitedTable::new(1, 1);
        let (mut counts, mut taken) = (vec![0.0; parts as usize], 0);
        let mut take_in = |batch: &VisitBatch| {
            taken += batch.visits.len() as u64;
            for event in &batch.visits {
                let part = event.segment().segment / (segments / parts);
                counts[part as usize] += f64::from(batch.sample_weight());
            }
        };
        for segment in 0..segments {
            visits.record_all(base, [(segment, Outcome::Rejected)]);
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
    fn more_threads_than_batches_all_teach_the_policy() {
        const THREADS: usize = 60;
        const ROUNDS: u32 = 500;
        const VISITS: u32 = 16;
        let visits = Arc::new(VisitBuffer::new(&MemoryBudget::new(256 << 10)));
        assert!(visits.empty.len() < THREADS, "{} batches", visits.empty.len());
        let (mut counts, mut samples) = ([0.0; THREADS], [0; THREADS]);
        let mut take_in = |batch: &VisitBatch| {
            for event in &batch.visits {
                let thread = event.segment().segment as usize;
                counts[thread] += f64::from(batch.sample_weight());
                samples[thread] += 1;
            }
        };
        let turn = Barrier::new(THREADS + 1);
        std::thread::scope(|scope| {
            let look_up = |thread| {
                let (visits, turn) = (&visits, &turn);
                move || {
                    for _ in 0..ROUNDS {
                        (0..VISITS).for_each(|_| {
                            visits.record_all(VisitedTable::new(1, 1), [(thread, Outcome::Rejected)])
                        });
                        turn.wait();
                        turn.wait();
                    }
                }
            };
            let threads: Vec<_> = (0..THREADS as u32).map(|thread| scope.spawn(look_up(thread))).collect();
            for _ in 0..ROUNDS {
                turn.wait();
                drain(&visits, &mut take_in);
                turn.wait();
            }
            // The end of the scope alone does not wait for what is local to the threads.
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        drain(&visits, &mut take_in);
        for (count, samples) in counts.into_iter().zip(samples) {
            // Six standard deviations; what a sample stands for differs by no more than a factor of four between batches of one thread.
            let off = (count / f64::from(ROUNDS * VISITS) - 1.0).abs();
            assert!(samples > 30 && off < 12.0 / f64::from(samples).sqrt(), "{off} of {samples}: {counts:?}");
        }
    }

    #[test]
    fn a_thread_notes_all_visits_again_after_a_burst_and_a_lower_budget() {
        let budget = MemoryBudget::new(1 << 30);
        let visits = Arc::new(VisitBuffer::new(&budget));
        let base = VisitedTable::new(1, 1);
        let note = |count| (0..count).for_each(|_| visits.record_all(base, [(3, Outcome::Rejected)]));
        note(1);
        let large = visits.visits_of_a_thread();
        visits.fit(64 << 10);
        assert!(visits.visits_of_a_thread() < large);
        note(100_000); // nobody takes them in, so they are sampled
        let mut weights = Vec::new();
        for _ in 0..40 {
            drain(&visits, |batch| weights.push(batch.sample_weight()));
            visits.sample_more();
            note(32 * weights.last().unwrap());
        }
        assert!(weights[0] > 1, "there was no burst");
        assert_eq!(*weights.last().unwrap(), 1, "{weights:?}");
    }

    #[test]
    fn buffers_stay_in_their_share_of_the_budget() {
        set_host_bytes_of_thread(100);
        for budget_bytes in [0, 1000, 64 << 10, 2_500_000, 1 << 30] {
            let budget = MemoryBudget::new(budget_bytes);
            let visits = Arc::new(VisitBuffer::new(&budget));
            let used_bytes = || budget.used_bytes_of(MemoryKind::Buffers);
            let of_the_pool = used_bytes();
            assert!(of_the_pool <= pool_bytes(budget_bytes), "{budget_bytes}");
            visits.record_all(VisitedTable::new(1, 1), [(3, Outcome::Rejected)]);
            let of_the_thread = ThreadVisits::BYTES + batch_bytes(visits.visits_of_a_thread()) + 100;
            let paid_bytes = if of_the_thread <= budget_bytes / THREADS_SHARE { of_the_thread } else { 0 };
            assert_eq!(used_bytes(), of_the_pool + paid_bytes, "{budget_bytes}");
            assert_eq!(visits.totals().rejected, 1);
        }
    }

    #[test]
    fn what_a_host_keeps_for_a_thread_is_paid_when_it_comes_and_goes() {
        let visits = Arc::new(VisitBuffer::new(&MemoryBudget::new(1 << 20)));
        let note = || {
            (0..1000).for_each(|_| visits.record_all(VisitedTable::new(1, 1), [(3, Outcome::Rejected)]));
            (visits.paid_bytes.load(Ordering::Relaxed), visits.unpaid_bytes())
        };
        let (alone, unpaid_bytes) = note();
        set_host_bytes_of_thread(5000);
        assert_eq!((note(), unpaid_bytes), ((alone + 5000, 0), 0));
        set_host_bytes_of_thread(1 << 20); // more than threads may take
        assert_eq!(note(), (0, alone + (1 << 20)));
        set_host_bytes_of_thread(0);
        assert_eq!(note(), (alone, 0));
        assert_eq!(visits.totals().rejected, 4000);
    }
}
