//! What the one that writes keeps, behind the writer's lock.

use springbloom_page_device::AlignedBuf;

use crate::flush_order::FlushOrder;
use crate::geometry::Update;
use crate::memory::MemoryPlan;
use crate::settings::FlushPolicy;

/// What an insertion does when a filter that was not made to grow is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// It fails with [`FlashError::Full`](crate::FlashError::Full) at the first key that the filter does not hold.
    #[default]
    Refuse,
    /// It adds a filter of twice the capacity, built for a quarter of the rate, and the filter grows from then on. The rates add up to at
    /// most 1.5 times the rate asked for.
    Grow,
    /// It goes on: the rate rises with every key, to 1 in the end.
    Exceed,
}

/// Digests inserted between two checks of log and capacity.
pub(crate) const CHUNK_KEYS: usize = 256;

/// State of the writer, behind one lock.
pub(crate) struct Writer {
    pub(crate) plan: MemoryPlan,
    pub(crate) order: FlushOrder,
    /// Appended updates without a commit.
    pub(crate) tail: Vec<Update>,
    /// Number of updates appended. [`FlashFilter`](crate::FlashFilter)'s `group_commit` knows how many are durable.
    pub(crate) appended: u64,
    /// Buffer for the pages of a flush.
    pub(crate) scratch: AlignedBuf,
    /// Keys of every page, for two choices. Counted before the first insertion.
    pub(crate) loads: Option<Vec<u16>>,
    pub(crate) insertions: u64,
    /// Something was inserted since the last checkpoint with an empty log.
    pub(crate) has_changed: bool,
    pub(crate) has_failed: bool,
    pub(crate) when_full: WhenFull,
}

impl Writer {
    pub(crate) fn new(plan: MemoryPlan, policy: FlushPolicy, groups: u32, insertions: u64) -> Writer {
        Writer {
            plan,
            order: FlushOrder::new(policy, groups),
            tail: Vec::new(),
            appended: 0,
            scratch: AlignedBuf::new(0),
            loads: None,
            insertions,
            has_changed: false,
            has_failed: false,
            when_full: WhenFull::default(),
        }
    }

    /// Adds insertions that this writer did not make: those of the log, or of another filter.
    pub(crate) fn recovered(&mut self, insertions: u64) {
        self.insertions = self.insertions.saturating_add(insertions);
        self.loads = None;
        self.has_changed = true;
    }
}
