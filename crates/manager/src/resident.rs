//! The resident groups of a table, where lookups find them.
//!
//! Each segment has an [`ArcSwapOption`]: a lookup borrows the group for the time of one probe without touching its
//! reference count; replacing it frees the old group at once, or, in the rare case that a lookup is probing it, when
//! that probe ends. The group's owner gives its bytes back to the budget when it is freed, not before.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use springbloom_filter::{FilterGroup, KeyDigest};

use crate::allocation::group_bytes;
use crate::{MemoryBudget, MemoryKind, Reservation};

/// A group that owns the bytes reserved for it: those that [`group_bytes`] says.
pub(crate) struct ResidentGroup {
    pub(crate) group: FilterGroup,
    budget: MemoryBudget,
}

impl Drop for ResidentGroup {
    fn drop(&mut self) {
        let bytes = group_bytes(self.group.shape(), self.group.resident_units());
        self.budget.release(MemoryKind::Units, bytes);
    }
}

/// Bytes of the allocation that owns a group: the two counts of its `Arc` and the owner.
pub(crate) const GROUP_OWNER_BYTES: usize = 2 * size_of::<usize>() + size_of::<ResidentGroup>();

/// One slot per segment of a table.
pub(crate) struct Slots {
    slots: Box<[ArcSwapOption<ResidentGroup>]>,
}

impl Slots {
    pub(crate) fn new(segments: usize) -> Self {
        Self { slots: std::iter::repeat_with(ArcSwapOption::empty).take(segments).collect() }
    }

    /// Bytes per segment.
    pub(crate) const BYTES: usize = size_of::<ArcSwapOption<ResidentGroup>>();

    /// Segments.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether the segment may hold the key. Lock-free, no allocation (but for the thread's first use of any slot).
    #[inline]
    pub(crate) fn may_match(&self, segment: u32, digest: KeyDigest) -> bool {
        let Some(slot) = self.slots.get(segment as usize) else { return true };
        slot.load().as_ref().is_none_or(|resident| resident.group.may_match(digest))
    }

    /// The group that lookups find now.
    pub(crate) fn group(&self, segment: u32) -> Option<Arc<ResidentGroup>> {
        self.slots.get(segment as usize)?.load_full()
    }

    /// Puts a group in place of the one that is there. `reservation` is for the whole group, as [`group_bytes`] says.
    pub(crate) fn publish(&self, segment: u32, group: FilterGroup, reservation: Reservation) {
        debug_assert_eq!(reservation.bytes(), group_bytes(group.shape(), group.resident_units()));
        if let Some(slot) = self.slots.get(segment as usize) {
            let budget = reservation.hand_over(MemoryKind::Units);
            slot.store(Some(Arc::new(ResidentGroup { group, budget })));
        }
    }

    /// Takes the segment's group away.
    pub(crate) fn clear(&self, segment: u32) {
        if let Some(slot) = self.slots.get(segment as usize) {
            slot.store(None);
        }
    }
}
