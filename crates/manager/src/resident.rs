//! The resident groups of a table, where lookups find them.
//!
//! Each segment has an [`ArcSwapOption`]: a lookup borrows the group for the time of one probe without touching its
//! reference count; replacing it frees the old group at once, or, in the rare case that a lookup is probing it, when
//! that probe ends. The reservation lives in the group's owner, so bytes come back exactly when memory does.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use springbloom_filter::{FilterGroup, KeyDigest};

use crate::{MemoryKind, Reservation};

/// A group and the bytes that were reserved for it.
pub(crate) struct ResidentGroup {
    pub group: FilterGroup,
    reservation: Reservation,
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

    /// Puts a group in place of the one that is there. `reservation` is for the whole group.
    pub(crate) fn publish(&self, segment: u32, group: FilterGroup, reservation: Reservation) {
        reservation.set_kind(MemoryKind::Units);
        self.replace(segment, Some(Arc::new(ResidentGroup { group, reservation })));
    }

    /// Takes the segment's group away.
    pub(crate) fn clear(&self, segment: u32) {
        self.replace(segment, None);
    }

    fn replace(&self, segment: u32, group: Option<Arc<ResidentGroup>>) {
        let Some(slot) = self.slots.get(segment as usize) else { return };
        if let Some(old) = slot.swap(group)
            && Arc::strong_count(&old) > 1
        {
            old.reservation.set_kind(MemoryKind::Garbage);
        }
    }
}
