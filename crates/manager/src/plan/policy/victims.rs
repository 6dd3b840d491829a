//! Finds the segments whose last units are worth least.
//!
//! A clock hand goes round over all segments, a few at a time, and a short list keeps the least valuable of those that it saw. The value of
//! a segment hardly changes between visits, and a visit mostly raises it. So values in the list are rarely too high, and a candidate is
//! checked again before it is evicted. Between two evictions the hand sees some hundred segments, so the victim is the least valuable of
//! about that many. No segment needs a place in a queue, and a visit moves nothing.

use crate::memory::{list_bytes, list_places};
use crate::names::SegmentRef;
use crate::plan::allocation::Allocation;

/// Places in the list.
const PLACES: usize = 64;
/// Segments that the hand looks at before the least valuable one is taken, when the list was empty.
const SEEN_MIN: usize = 1024;

/// A segment whose last unit could go.
#[derive(Clone, Copy, Debug)]
struct Victim {
    segment: SegmentRef,
    /// Weighted wasted reads per byte that its last unit saves, at least.
    worth: f32,
}

/// The list and the hand.
#[derive(Debug)]
pub(super) struct Victims {
    /// Least worth last.
    places: Vec<Victim>,
    hand: SegmentRef,
}

fn worth(segment: SegmentRef, allocation: &Allocation) -> Option<f32> {
    let state = allocation.segments().get(segment)?;
    // A small unit may fit the allocator's rounding of those before it.
    let bytes = state.last_unit_bytes()?.max(1) as f32;
    Some(allocation.saved_by_last(segment) / bytes)
}

impl Victims {
    /// Bytes of the list for this number of segments.
    pub(super) fn list_bytes(segments: usize) -> usize {
        list_bytes::<Victim>(segments.min(PLACES))
    }

    pub(super) fn new() -> Self {
        Self { places: Vec::new(), hand: SegmentRef::FIRST }
    }

    /// Looks at the next `segments` segments.
    pub(super) fn look(&mut self, segments: usize, allocation: &Allocation) {
        for _ in 0..segments {
            let Some(segment) = allocation.segments().at_or_after_in_circle(self.hand) else { return };
            self.hand = SegmentRef { segment: segment.segment + 1, ..segment };
            self.offer(segment, allocation);
        }
    }

    /// Adds the segment to the list if its last unit is worth less than one in it.
    pub(super) fn offer(&mut self, segment: SegmentRef, allocation: &Allocation) {
        if let Some(worth) = worth(segment, allocation) {
            self.put(Victim { segment, worth });
        }
    }

    fn put(&mut self, new: Victim) {
        self.places.retain(|place| place.segment != new.segment);
        if self.places.len() == PLACES {
            if self.places[0].worth <= new.worth {
                return;
            }
            self.places.remove(0);
        }
        let at = self.places.partition_point(|place| place.worth > new.worth);
        self.places.insert(at, new);
    }

    /// The least worth per byte of any candidate; the true one may be more. 0 if nothing is known.
    pub(super) fn least_worth(&self) -> f32 {
        self.places.last().map_or(0.0, |least| least.worth)
    }

    /// Removes and returns the segment whose last unit is worth least. `None` if no segment has units.
    pub(super) fn pop(&mut self, allocation: &Allocation) -> Option<SegmentRef> {
        loop {
            if self.places.is_empty() {
                self.search(allocation);
            }
            let least = self.places.pop()?;
            match worth(least.segment, allocation) {
                None => continue,
                Some(worth) if worth <= least.worth || self.least_worth() >= worth => {
                    return Some(least.segment);
                }
                // It was visited since and is worth more: back into the list.
                Some(_) => self.offer(least.segment, allocation),
            }
        }
    }

    /// Looks at [`SEEN_MIN`] segments, and on until one has units or all were seen.
    fn search(&mut self, allocation: &Allocation) {
        let all = allocation.segment_count();
        let mut seen = 0;
        while seen < all && (seen < SEEN_MIN || self.places.is_empty()) {
            let step = SEEN_MIN.min(all - seen);
            self.look(step, allocation);
            seen += step;
        }
    }

    /// Forgets a table's segments.
    pub(super) fn remove_table(&mut self, table: u32) {
        self.places.retain(|place| place.segment.table != table);
        self.places.shrink_to(list_places(self.places.len()));
    }

    /// Scales the list, as all worths were scaled.
    pub(super) fn scale(&mut self, factor: f32) {
        self.places.iter_mut().for_each(|place| place.worth *= factor);
    }

    #[cfg(test)]
    pub(super) fn assert_consistent(&self, allocation: &Allocation) {
        assert!(self.places.len() <= PLACES && self.places.is_sorted_by(|a, b| a.worth >= b.worth));
        for (at, place) in self.places.iter().enumerate() {
            assert!(allocation.segments().get(place.segment).is_some());
            assert!(self.places[..at].iter().all(|other| other.segment != place.segment));
        }
    }
}
