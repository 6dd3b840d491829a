//! The keys from one to another in a table's order.

use std::cmp::Ordering;

use crate::keys::{Comparator, Fence, FencesRef};

/// From the first key, up to but without the next segment's first key, or up to and with the last key.
#[derive(Clone, Copy)]
pub(crate) struct KeyRange<'a> {
    pub first: Fence<'a>,
    pub end: End<'a>,
}

/// Where a range ends.
#[derive(Clone, Copy)]
pub(crate) enum End<'a> {
    Before(Fence<'a>),
    At(Fence<'a>),
    Unknown,
}

impl End<'_> {
    /// Whether keys before this end may be at or after `key`.
    pub(crate) fn reaches(self, key: Fence, comparator: &dyn Comparator) -> bool {
        match self {
            End::Before(end) => key.compare(end, comparator) == Ordering::Less,
            End::At(end) => key.compare(end, comparator) != Ordering::Greater,
            End::Unknown => true,
        }
    }
}

impl<'a> KeyRange<'a> {
    /// The keys of a segment; `None` past the end.
    pub(crate) fn of_segment(fences: FencesRef<'a>, segment: u32) -> Option<Self> {
        let end = match fences.get(segment + 1) {
            Some(next) => End::Before(next),
            None => fences.last_key().map_or(End::Unknown, End::At),
        };
        Some(Self { first: fences.get(segment)?, end })
    }

    /// The keys of all segments; `None` if there are none.
    pub(crate) fn of_table(fences: FencesRef<'a>) -> Option<Self> {
        let last = Self::of_segment(fences, (fences.len() as u32).checked_sub(1)?)?;
        Some(Self { first: fences.get(0)?, end: last.end })
    }
}
