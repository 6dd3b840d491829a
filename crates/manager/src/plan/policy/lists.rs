//! Doubly linked lists of segments, linked through the policies' own per-segment nodes: O(1), no allocation.

use crate::SegmentRef;
use crate::plan::PerSegment;

/// A node's place in its list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links {
    previous: SegmentRef,
    next: SegmentRef,
}

/// A per-segment element that can stand in one list at a time.
pub(super) trait Linked {
    fn links(&mut self) -> &mut Links;
    fn next(&self) -> SegmentRef;
}

impl Links {
    pub(super) const UNLINKED: Links = Links { previous: SegmentRef::NONE, next: SegmentRef::NONE };

    pub(super) fn next(&self) -> SegmentRef {
        self.next
    }
}

/// A list from its least to its most recently added segment.
#[derive(Clone, Debug)]
pub(super) struct List {
    front: SegmentRef,
    back: SegmentRef,
}

impl List {
    pub(super) const EMPTY: List = List { front: SegmentRef::NONE, back: SegmentRef::NONE };

    /// Adds at the most recent end. The segment must be in no list.
    pub(super) fn push_back<N: Linked>(&mut self, nodes: &mut PerSegment<N>, segment: SegmentRef) {
        *nodes[segment].links() = Links { previous: self.back, next: SegmentRef::NONE };
        match self.back {
            SegmentRef::NONE => self.front = segment,
            back => nodes[back].links().next = segment,
        }
        self.back = segment;
    }

    /// Adds at the least recent end. The segment must be in no list.
    pub(super) fn push_front<N: Linked>(&mut self, nodes: &mut PerSegment<N>, segment: SegmentRef) {
        *nodes[segment].links() = Links { previous: SegmentRef::NONE, next: self.front };
        match self.front {
            SegmentRef::NONE => self.back = segment,
            front => nodes[front].links().previous = segment,
        }
        self.front = segment;
    }

    /// Takes out a segment that is in this list.
    pub(super) fn remove<N: Linked>(&mut self, nodes: &mut PerSegment<N>, segment: SegmentRef) {
        let Links { previous, next } = std::mem::replace(nodes[segment].links(), Links::UNLINKED);
        match previous {
            SegmentRef::NONE => self.front = next,
            segment => nodes[segment].links().next = next,
        }
        match next {
            SegmentRef::NONE => self.back = previous,
            segment => nodes[segment].links().previous = previous,
        }
    }

    /// Segments from the least recent one.
    pub(super) fn iter<'a, N: Linked>(
        &self,
        nodes: &'a PerSegment<N>,
    ) -> impl Iterator<Item = SegmentRef> + use<'a, N> {
        let some = |segment| (segment != SegmentRef::NONE).then_some(segment);
        std::iter::successors(some(self.front), move |&segment| some(nodes[segment].next()))
    }
}
