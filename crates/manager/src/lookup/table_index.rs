//! The whole index of a table in memory, where lookups find it.
//!
//! A lookup shares it for as long as its iterator lives. An evicted index is freed with the last share, and its bytes return to the budget.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use arc_swap::ArcSwapOption;
use springbloom_index::PackedIndex;

use crate::budget::Reservation;

/// An index in memory.
#[derive(Debug)]
pub struct LoadedIndex {
    index: PackedIndex,
    /// Given back after the index: fields are dropped in order.
    _reservation: Reservation,
}

impl LoadedIndex {
    pub(crate) fn new(index: PackedIndex, reservation: Reservation) -> Self {
        Self { index, _reservation: reservation }
    }
}

impl Deref for LoadedIndex {
    type Target = PackedIndex;

    fn deref(&self) -> &PackedIndex {
        &self.index
    }
}

/// The place of a table's index. Readers of the table share it.
#[derive(Debug)]
pub(crate) struct TableIndex {
    loaded: ArcSwapOption<LoadedIndex>,
    /// That it takes in memory: of the one that was read last, and a guess of the host before.
    bytes: AtomicU32,
    /// Whether the plan wants it.
    is_planned: AtomicBool,
    /// Whether the last read of it failed, until somebody took note of that.
    has_failed: AtomicBool,
}

const _: () = assert!(size_of::<TableIndex>() == 16);

/// No budget is spent on an index of that size.
fn countable(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

impl TableIndex {
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            loaded: ArcSwapOption::empty(),
            bytes: AtomicU32::new(countable(bytes)),
            is_planned: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
        }
    }

    /// The index, if it is resident. Lock-free, without allocation (but for the thread's first call).
    #[inline]
    pub(crate) fn loaded(&self) -> Option<Arc<LoadedIndex>> {
        self.loaded.load_full()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed) as usize
    }

    pub(crate) fn set_bytes(&self, bytes: usize) {
        self.bytes.store(countable(bytes), Ordering::Relaxed);
    }

    pub(crate) fn is_planned(&self) -> bool {
        self.is_planned.load(Ordering::SeqCst)
    }

    pub(crate) fn is_loaded(&self) -> bool {
        self.loaded.load().is_some()
    }

    pub(crate) fn plan(&self) {
        self.is_planned.store(true, Ordering::SeqCst);
    }

    /// Lookups find it no more. Gives the share that they found.
    pub(crate) fn evict(&self) -> Option<Arc<LoadedIndex>> {
        self.is_planned.store(false, Ordering::SeqCst);
        self.loaded.swap(None)
    }

    /// It could not be read.
    pub(crate) fn fail(&self) {
        self.is_planned.store(false, Ordering::SeqCst);
        self.has_failed.store(true, Ordering::SeqCst);
    }

    /// Whether it could not be read since the last call.
    pub(crate) fn take_failure(&self) -> bool {
        self.has_failed.swap(false, Ordering::SeqCst)
    }

    /// It was read. Not kept if it was evicted meanwhile.
    pub(crate) fn put(&self, loaded: LoadedIndex) {
        self.loaded.store(Some(Arc::new(loaded)));
        if !self.is_planned() {
            self.loaded.store(None);
        }
    }
}
