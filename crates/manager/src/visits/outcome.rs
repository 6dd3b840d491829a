//! What one lookup learned about one segment.

use crate::names::SegmentRef;

/// The end of a lookup's visit to one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The resident units said no: a read was saved, and would have been with one unit less.
    Rejected,
    /// The units (or the lack of them) said maybe, a data block was read, and the key was not there.
    WastedRead,
    /// The key was there. No filter could have saved this read.
    TruePositive,
    /// The last resident unit alone said no: without it a read would have been wasted.
    RejectedByLast,
    /// The units (or the lack of them) said maybe, but no data block was read: the lookup was to read memory alone. Units would have told
    /// a caller that an absent key is absent, so it teaches what a wasted read does.
    NotRead,
}

impl Outcome {
    /// Whether the units let pass what a further one might have rejected.
    pub fn asks_for_units(self) -> bool {
        matches!(self, Outcome::WastedRead | Outcome::NotRead)
    }

    /// Whether units can help such visits: the key is absent from the segment, as far as is seen.
    pub fn is_negative(self) -> bool {
        self != Outcome::TruePositive
    }
}

/// A visit that was taken in.
#[derive(Clone, Copy, Debug)]
pub struct Visit {
    /// Where.
    pub segment: SegmentRef,
    /// How it ended.
    pub outcome: Outcome,
    /// Visits that this one stands for: this many were made for one that was taken in.
    pub sample_weight: u32,
}
