//! The budget in bytes of everything that a manager holds.
//!
//! There is the budget that was asked for, and the one in force, which follows it.
//!
//! Invariant: at no instant is more reserved than the budget in force, also not between threads, also not while it changes: reserving and
//! lowering both take from one counter of *available* bytes, which never gets negative. Lowering below what is in use therefore stops at
//! what is in use, until bytes come free.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;
use parking_lot::Mutex;

/// What reserved bytes are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum MemoryKind {
    /// Units with what owns them: the resident ones, and replaced ones that a lookup still probes.
    Units,
    /// Per-table and per-segment state: fences, cells, hotness, queues.
    Bookkeeping,
    /// Buffers in which lookups note what they saw.
    Buffers,
    /// Units being read.
    Loading,
    /// Indexes of tables, resident or being read.
    Indexes,
}

const KINDS: usize = 5;

#[derive(Debug)]
struct Counters {
    available_bytes: CachePadded<AtomicI64>,
    /// In force.
    budget_bytes: AtomicI64,
    asked_bytes: AtomicUsize,
    /// Odd while the budget in force and the available bytes are moved together.
    budget_version: AtomicU64,
    budget_change: Mutex<()>,
    peak_bytes: AtomicUsize,
    frees: AtomicU64,
    used_bytes_by_kind: [AtomicUsize; KINDS],
}

/// A number of bytes that many threads reserve from. Clones share it.
#[derive(Clone, Debug)]
pub struct MemoryBudget {
    counters: Arc<Counters>,
}

/// One consistent reading of a budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetSnapshot {
    /// The budget in force.
    pub budget_bytes: usize,
    /// What is reserved; never more than the budget in force.
    pub used_bytes: usize,
}

impl MemoryBudget {
    /// The largest budget, 256 TiB: as much as a process can address on today's machines (47 bits of address, one to spare). What
    /// asks for more means something else, such as -1; it gets this one.
    pub const BUDGET_BYTES_MAX: usize = 1 << 48;

    /// A budget of `budget_bytes`, all of it available.
    pub fn new(budget_bytes: usize) -> Self {
        let in_force = signed(budget_bytes);
        Self {
            counters: Arc::new(Counters {
                available_bytes: CachePadded::new(AtomicI64::new(in_force)),
                budget_bytes: AtomicI64::new(in_force),
                asked_bytes: AtomicUsize::new(in_force as usize),
                budget_version: AtomicU64::new(0),
                budget_change: Mutex::new(()),
                peak_bytes: AtomicUsize::new(0),
                frees: AtomicU64::new(0),
                used_bytes_by_kind: Default::default(),
            }),
        }
    }

    /// Takes `bytes` until the reservation is dropped; `None` if they are not available. Lock-free.
    pub fn try_reserve(&self, kind: MemoryKind, bytes: usize) -> Option<Reservation> {
        let wanted = i64::try_from(bytes).ok()?;
        let available = &self.counters.available_bytes;
        available
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |available| {
                (available >= wanted).then(|| available - wanted)
            })
            .ok()?;
        if let Some(BudgetSnapshot { used_bytes, .. }) = self.try_snapshot() {
            self.counters.peak_bytes.fetch_max(used_bytes, Ordering::Relaxed);
        }
        self.counters.used_bytes_by_kind[kind as usize].fetch_add(bytes, Ordering::Relaxed);
        Some(Reservation { budget: self.clone(), bytes, kind })
    }

    /// Gives bytes back that were [forgotten](Reservation::forget).
    pub fn release(&self, kind: MemoryKind, bytes: usize) {
        self.counters.used_bytes_by_kind[kind as usize].fetch_sub(bytes, Ordering::Relaxed);
        self.counters.available_bytes.fetch_add(bytes as i64, Ordering::AcqRel);
        self.counters.frees.fetch_add(u64::from(bytes > 0), Ordering::AcqRel);
    }

    /// Asks for another budget. The one in force [follows](Self::follow).
    pub fn ask(&self, budget_bytes: usize) {
        self.counters.asked_bytes.store(budget_bytes.min(Self::BUDGET_BYTES_MAX), Ordering::Release);
    }

    /// The budget that was asked for.
    pub fn asked_bytes(&self) -> usize {
        self.counters.asked_bytes.load(Ordering::Acquire)
    }

    /// Moves the budget in force to the one that was asked for, or to what is in use if that is more. Returns the one in force. The caller
    /// frees and calls again until both are equal.
    pub fn follow(&self) -> usize {
        let counters = &*self.counters;
        let _changes = counters.budget_change.lock();
        let old = counters.budget_bytes.load(Ordering::Acquire);
        let wanted = signed(self.asked_bytes());
        counters.budget_version.fetch_add(1, Ordering::AcqRel);
        let taken = counters
            .available_bytes
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |available| {
                Some(available - (old - wanted).min(available))
            })
            .map_or(0, |available| (old - wanted).min(available));
        counters.budget_bytes.store(old - taken, Ordering::Release);
        counters.budget_version.fetch_add(1, Ordering::AcqRel);
        if taken < 0 {
            counters.frees.fetch_add(1, Ordering::AcqRel);
        }
        (old - taken) as usize
    }

    /// Budget in force and use at one instant. Lock-free; tries again while the budget is being moved.
    pub fn snapshot(&self) -> BudgetSnapshot {
        loop {
            if let Some(snapshot) = self.try_snapshot() {
                return snapshot;
            }
            std::hint::spin_loop();
        }
    }

    /// `None` while the budget is being moved.
    fn try_snapshot(&self) -> Option<BudgetSnapshot> {
        let counters = &*self.counters;
        let version = counters.budget_version.load(Ordering::Acquire);
        let in_force = counters.budget_bytes.load(Ordering::Acquire);
        let available = counters.available_bytes.load(Ordering::Acquire);
        let is_still =
            version.is_multiple_of(2) && counters.budget_version.load(Ordering::Acquire) == version;
        is_still.then(|| BudgetSnapshot {
            budget_bytes: in_force as usize,
            used_bytes: (in_force - available).max(0) as usize,
        })
    }

    /// The budget in force.
    pub fn budget_bytes(&self) -> usize {
        self.counters.budget_bytes.load(Ordering::Acquire) as usize
    }

    /// What is reserved now.
    pub fn used_bytes(&self) -> usize {
        self.snapshot().used_bytes
    }

    /// How often bytes came free; 0 in a budget of 0 bytes. What finds no room has to try again once this is more than before it tried.
    pub fn frees(&self) -> u64 {
        if self.budget_bytes() == 0 { 0 } else { self.counters.frees.load(Ordering::Acquire) }
    }

    /// The most that was ever seen reserved, while the budget stood still.
    pub fn peak_bytes(&self) -> usize {
        self.counters.peak_bytes.load(Ordering::Relaxed)
    }

    /// What is reserved now for one kind of thing.
    pub fn used_bytes_of(&self, kind: MemoryKind) -> usize {
        self.counters.used_bytes_by_kind[kind as usize].load(Ordering::Relaxed)
    }
}

fn signed(budget_bytes: usize) -> i64 {
    budget_bytes.min(MemoryBudget::BUDGET_BYTES_MAX) as i64
}

/// Bytes of a [`MemoryBudget`] that are given back on drop.
#[derive(Debug)]
pub struct Reservation {
    budget: MemoryBudget,
    bytes: usize,
    kind: MemoryKind,
}

impl Reservation {
    /// How many bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives back what is more than `bytes`. `None`: they are fewer, and all are given back.
    pub fn shrunk_to(mut self, bytes: usize) -> Option<Self> {
        let more = self.bytes.checked_sub(bytes)?;
        self.bytes = bytes;
        self.budget.release(self.kind, more);
        Some(self)
    }

    /// Takes this many of its bytes, or all, apart.
    pub(crate) fn split(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self { budget: self.budget.clone(), bytes, kind: self.kind }
    }

    /// Leaves the bytes to an owner that knows by itself how many they are, and of what kind: it must
    /// [release](MemoryBudget::release) as many when it goes.
    pub fn forget(mut self, kind: MemoryKind) {
        let counters = &self.budget.counters.used_bytes_by_kind;
        counters[kind as usize].fetch_add(self.bytes, Ordering::Relaxed);
        counters[self.kind as usize].fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = 0;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.release(self.kind, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn move_to(budget: &MemoryBudget, budget_bytes: usize) -> usize {
        budget.ask(budget_bytes);
        budget.follow()
    }

    #[test]
    fn what_is_reserved_is_counted_by_kind_until_it_is_dropped() {
        let budget = MemoryBudget::new(100);
        let first = budget.try_reserve(MemoryKind::Units, 60).unwrap();
        assert!(budget.try_reserve(MemoryKind::Buffers, 41).is_none());
        let second = budget.try_reserve(MemoryKind::Buffers, 40).unwrap();
        assert_eq!(budget.snapshot(), BudgetSnapshot { budget_bytes: 100, used_bytes: 100 });
        assert_eq!((budget.used_bytes_of(MemoryKind::Units), second.bytes()), (60, 40));
        drop(first);
        assert_eq!((budget.used_bytes(), budget.peak_bytes()), (40, 100));
        assert!(budget.try_reserve(MemoryKind::Units, usize::MAX).is_none());
    }

    #[test]
    fn lowering_stops_at_what_is_in_use() {
        let budget = MemoryBudget::new(100);
        let held = budget.try_reserve(MemoryKind::Units, 60).unwrap();
        assert_eq!(move_to(&budget, 10), 60);
        assert!(budget.try_reserve(MemoryKind::Units, 1).is_none());
        drop(held);
        assert_eq!(move_to(&budget, 10), 10);
        assert_eq!(move_to(&budget, 1000), 1000);
        assert_eq!(budget.snapshot(), BudgetSnapshot { budget_bytes: 1000, used_bytes: 0 });
    }

    #[test]
    fn bytes_that_a_budget_grows_by_do_not_count_as_reserved() {
        let budget = MemoryBudget::new(10);
        std::thread::scope(|scope| {
            scope.spawn(|| (0..3_000_000).for_each(|_| drop(budget.try_reserve(MemoryKind::Units, 1))));
            (0..1_500_000).for_each(|round| _ = move_to(&budget, if round % 2 == 0 { 1000 } else { 10 }));
        });
        assert_eq!(budget.peak_bytes(), 1);
    }

    #[test]
    fn what_finds_no_room_is_told_when_bytes_came_free() {
        let budget = MemoryBudget::new(0);
        assert_eq!((move_to(&budget, 100), budget.frees()), (100, 1));
        let held = budget.try_reserve(MemoryKind::Units, 60).unwrap();
        assert_eq!(
            (move_to(&budget, 60), budget.frees()),
            (60, 1),
            "a smaller budget has no room for anybody"
        );
        drop(held);
        assert_eq!(
            (budget.frees(), move_to(&budget, 0), budget.frees()),
            (2, 0, 0),
            "there is none in no budget"
        );
    }

    #[test]
    fn threads_together_never_exceed_the_budget() {
        let budget = MemoryBudget::new(1000);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let budget = &budget;
                scope.spawn(move || {
                    for round in 0..20_000usize {
                        let held = budget.try_reserve(MemoryKind::Units, 100 + (round * 7 + thread) % 400);
                        let now = budget.snapshot();
                        assert!(now.used_bytes <= now.budget_bytes, "{now:?}");
                        if thread == 0 {
                            move_to(budget, round % 1500);
                        }
                        drop(held);
                    }
                });
            }
        });
        assert_eq!(budget.used_bytes(), 0);
        assert_eq!(budget.used_bytes_of(MemoryKind::Units), 0);
    }
}
