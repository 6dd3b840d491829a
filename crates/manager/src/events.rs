//! How visits get from lookups to the policy: full batches go through a bounded lock-free queue and come back empty
//! through another.
//!
//! The pool of batches is made once, within the budget. A thread fills a batch of its own; when there is no empty one
//! to go on with, the full one is emptied and its visits are dropped (and counted). So lookups never wait, and the
//! background thread takes in no more than it can: a sample.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;

use crossbeam_queue::ArrayQueue;

use crate::memory::allocated_bytes;
use crate::segments::SegmentRef;
use crate::totals::{ThreadTotals, Totals};
use crate::{MemoryBudget, MemoryKind, Outcome, OutcomeTotals, Reservation};

const OUTCOME_BITS: u32 = 2;
const SEGMENT_BITS: u32 = 24;
const TABLE_BITS: u32 = 22;
const GENERATION_BITS: u32 = 16;
const _: () = assert!(OUTCOME_BITS + SEGMENT_BITS + TABLE_BITS + GENERATION_BITS == 64);

/// Most segments of one table.
pub(crate) const SEGMENTS_MAX: usize = 1 << SEGMENT_BITS;
/// Most tables at one time.
pub(crate) const TABLES_MAX: usize = 1 << TABLE_BITS;

/// Table and generation of an event, in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventBase(u64);

impl EventBase {
    pub(crate) fn new(table: u32, generation: u16) -> Self {
        Self((u64::from(generation) << TABLE_BITS | u64::from(table)) << (SEGMENT_BITS + OUTCOME_BITS))
    }
}

/// One visit in eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event(u64);

impl Event {
    #[inline]
    fn new(base: EventBase, segment: u32, outcome: Outcome) -> Self {
        Self(base.0 | u64::from(segment) << OUTCOME_BITS | outcome as u64)
    }

    pub(crate) fn segment(self) -> SegmentRef {
        let bits = |from: u32, count: u32| ((self.0 >> from) & ((1 << count) - 1)) as u32;
        SegmentRef {
            table: bits(OUTCOME_BITS + SEGMENT_BITS, TABLE_BITS),
            segment: bits(OUTCOME_BITS, SEGMENT_BITS),
        }
    }

    /// Distinguishes tables that follow one another in the same slot.
    pub(crate) fn generation(self) -> u16 {
        (self.0 >> (64 - GENERATION_BITS)) as u16
    }

    pub(crate) fn outcome(self) -> Outcome {
        match self.0 & 3 {
            0 => Outcome::Rejected,
            1 => Outcome::WastedRead,
            _ => Outcome::TruePositive,
        }
    }
}

/// Visits of one thread, a fixed number at most; none at all without a reservation.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    events: Vec<Event>,
    _reservation: Option<Reservation>,
}

impl Batch {
    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.events.len() == self.events.capacity()
    }
}

/// Share of the budget that buffers take.
const BUDGET_SHARE: usize = 64;
const POOL_BYTES_MAX: usize = 256 << 10;
const BATCHES_AIMED_AT: usize = 64;
const BATCH_EVENTS_MAX: usize = 128;
const BATCH_EVENTS_MIN: usize = 8;

/// The queues between lookups and the background thread.
pub(crate) struct EventHub {
    full: ArrayQueue<Batch>,
    empty: ArrayQueue<Batch>,
    batch_events: usize,
    /// Batches there are, in whatever hands.
    batches: AtomicUsize,
    totals: Totals,
    dropped_events: AtomicU64,
    /// The manager is gone; threads let go of the hub when they next enter another.
    closed: AtomicBool,
    /// Takes batches in; woken when they pile up.
    consumer: OnceLock<Thread>,
    budget: MemoryBudget,
    _queues: Option<Reservation>,
}

/// Bytes of the buffers under a limit.
fn pool_bytes(limit_bytes: usize) -> usize {
    (limit_bytes / BUDGET_SHARE).min(POOL_BYTES_MAX)
}

impl EventHub {
    /// Queues and batches for a budget of this size; without any if there is no room.
    pub(crate) fn new(budget: &MemoryBudget) -> Self {
        let pool_bytes = pool_bytes(budget.limit_bytes());
        let batch_events =
            (pool_bytes / BATCHES_AIMED_AT / size_of::<Event>()).clamp(BATCH_EVENTS_MIN, BATCH_EVENTS_MAX);
        // A batch has a place in both queues: itself and the queue's stamp.
        let places_bytes = 2 * (size_of::<Batch>() + size_of::<usize>());
        let places = pool_bytes / (allocated_bytes(batch_events * size_of::<Event>()) + places_bytes);
        let queues = budget.try_reserve(MemoryKind::Buffers, places * places_bytes);
        let places = if queues.is_some() { places.max(1) } else { 1 };
        let hub = Self {
            full: ArrayQueue::new(places),
            empty: ArrayQueue::new(places),
            batch_events,
            batches: AtomicUsize::new(0),
            totals: Totals::default(),
            dropped_events: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            consumer: OnceLock::new(),
            budget: budget.clone(),
            _queues: queues,
        };
        hub.fit(budget.limit_bytes());
        hub
    }

    fn batch_bytes(&self) -> usize {
        allocated_bytes(self.batch_events * size_of::<Event>())
    }

    /// Makes or frees batches as a limit of `limit_bytes` allows, no more than there are places for. Those that threads
    /// hold stay.
    pub(crate) fn fit(&self, limit_bytes: usize) {
        let wanted = (pool_bytes(limit_bytes) / self.batch_bytes()).min(self.empty.capacity());
        while self.batches.load(Ordering::Relaxed) > wanted && self.empty.pop().is_some() {
            self.batches.fetch_sub(1, Ordering::Relaxed);
        }
        while self.batches.load(Ordering::Relaxed) < wanted {
            let reservation = self.budget.try_reserve(MemoryKind::Buffers, self.batch_bytes());
            let Some(reservation) = reservation else { return };
            let events = Vec::with_capacity(self.batch_events);
            let _ = self.empty.push(Batch { events, _reservation: Some(reservation) }); // as many places as batches
            self.batches.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Notes a visit. No lock, no wait, no allocation but for a thread's first visit.
    #[inline]
    pub(crate) fn record(self: &Arc<Self>, base: EventBase, segment: u32, outcome: Outcome) {
        let event = Event::new(base, segment % SEGMENTS_MAX as u32, outcome);
        let noted = THREAD.try_with(|thread| {
            let mut hubs = thread.borrow_mut();
            match hubs.iter_mut().find(|entry| Arc::ptr_eq(&entry.hub, self)) {
                Some(entry) => entry.record(event, outcome),
                None => {
                    hubs.retain(|entry| !entry.hub.closed.load(Ordering::Relaxed));
                    hubs.push(ThreadEntry::new(self));
                    hubs.last_mut().expect("just pushed").record(event, outcome);
                }
            }
        });
        if noted.is_err() {
            self.totals.add(outcome); // a lookup in a destructor of thread-local state
            self.dropped_events.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Hands on what this thread has noted so far.
    pub(crate) fn flush_thread(self: &Arc<Self>) {
        let _ = THREAD.try_with(|thread| {
            let mut hubs = thread.borrow_mut();
            if let Some(entry) = hubs.iter_mut().find(|entry| Arc::ptr_eq(&entry.hub, self)) {
                entry.hand_on();
            }
        });
    }

    /// A full batch, if there is one; give it back with [`give_back`](Self::give_back).
    pub(crate) fn take(&self) -> Option<Batch> {
        self.full.pop()
    }

    pub(crate) fn give_back(&self, mut batch: Batch) {
        batch.events.clear();
        let _ = self.empty.push(batch); // as many places as batches
    }

    /// Who takes batches in.
    pub(crate) fn set_consumer(&self, thread: Thread) {
        let _ = self.consumer.set(thread); // one thread per hub
    }

    /// A nap ends early when half of the batches wait: a system call then, for a batch, not for a visit.
    fn wake_if_piled_up(&self) {
        if self.full.len() * 2 >= self.full.capacity()
            && let Some(consumer) = self.consumer.get()
        {
            consumer.unpark();
        }
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn totals(&self) -> OutcomeTotals {
        self.totals.read()
    }

    pub(crate) fn dropped_events(&self) -> u64 {
        self.dropped_events.load(Ordering::Relaxed)
    }
}

/// What a thread keeps for one hub.
struct ThreadEntry {
    hub: Arc<EventHub>,
    batch: Batch,
    totals: Option<Arc<ThreadTotals>>,
    _reservation: Option<Reservation>,
}

thread_local! {
    /// Nearly always one entry: one manager serves a process.
    static THREAD: RefCell<Vec<ThreadEntry>> = const { RefCell::new(Vec::new()) };
}

impl ThreadEntry {
    fn new(hub: &Arc<EventHub>) -> Self {
        let bytes = Totals::THREAD_BYTES + size_of::<Self>();
        let reservation = hub.budget.try_reserve(MemoryKind::Buffers, bytes);
        let totals = reservation.is_some().then(|| hub.totals.enter());
        Self {
            hub: hub.clone(),
            batch: hub.empty.pop().unwrap_or_default(),
            totals,
            _reservation: reservation,
        }
    }

    #[inline]
    fn record(&mut self, event: Event, outcome: Outcome) {
        match &self.totals {
            Some(totals) => totals.add_owned(outcome),
            None => self.hub.totals.add(outcome),
        }
        if self.batch.is_full() {
            self.hand_on();
        }
        if !self.batch.is_full() {
            self.batch.events.push(event);
        } else {
            self.hub.dropped_events.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Swaps the batch for an empty one, or empties it if there is none.
    #[cold]
    fn hand_on(&mut self) {
        match self.hub.empty.pop() {
            Some(empty) => {
                let full = std::mem::replace(&mut self.batch, empty);
                if full.events.capacity() > 0 {
                    let _ = self.hub.full.push(full); // as many places as batches
                }
                self.hub.wake_if_piled_up();
            }
            None => {
                self.hub.dropped_events.fetch_add(self.batch.events.len() as u64, Ordering::Relaxed);
                self.batch.events.clear();
            }
        }
    }
}

impl Drop for ThreadEntry {
    fn drop(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        if batch.events.capacity() > 0 {
            let _ = self.hub.full.push(batch); // as many places as batches
        }
        if let Some(totals) = &self.totals {
            self.hub.totals.leave(totals);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_keeps_what_is_put_in() {
        for (table, generation, segment, outcome) in [
            (0, 0, 0, Outcome::Rejected),
            (TABLES_MAX as u32 - 1, u16::MAX, SEGMENTS_MAX as u32 - 1, Outcome::TruePositive),
            (5, 7, 9, Outcome::WastedRead),
        ] {
            let event = Event::new(EventBase::new(table, generation), segment, outcome);
            assert_eq!(event.segment(), SegmentRef { table, segment });
            assert_eq!((event.generation(), event.outcome()), (generation, outcome));
        }
    }

    #[test]
    fn without_an_empty_batch_visits_are_dropped_but_counted() {
        let budget = MemoryBudget::new(64 << 10);
        let hub = Arc::new(EventHub::new(&budget));
        let base = EventBase::new(1, 1);
        let visits = 10 * (64 << 10) / 8;
        (0..visits).for_each(|_| hub.record(base, 3, Outcome::Rejected));
        hub.flush_thread();
        let mut taken = 0;
        while let Some(batch) = hub.take() {
            taken += batch.events().len() as u64;
            hub.give_back(batch);
        }
        assert_eq!(hub.totals().rejected, visits);
        assert!(taken > 0 && hub.dropped_events() > 0);
        hub.flush_thread();
        while let Some(batch) = hub.take() {
            taken += batch.events().len() as u64;
        }
        assert_eq!(taken + hub.dropped_events(), visits);
        assert!(budget.used_bytes_of(MemoryKind::Buffers) <= (64 << 10) / BUDGET_SHARE + 1024);
    }
}
