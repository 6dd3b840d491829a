//! The resident prefix of a segment's units: the thing that a lookup probes.
//!
//! Invariant: `words` holds `resident * unit_words` words in one allocation, so that a probe costs the group's own cache line
//! and then the units' lines, nothing in between. Units follow each other in lanes of as many as the family reads
//! together; within a lane their words are interleaved. The last lane may have fewer units.

use crate::{FilterError, GroupShape, KeyDigest};

/// Units in a lane of a family that reads several together.
pub(crate) const LANES: usize = 4;

/// The first units of one segment's group, in memory. Immutable: growing or shrinking makes a new group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterGroup {
    words: Box<[u64]>,
    shape: GroupShape,
    unit_words: u32,
    resident: u8,
}

impl FilterGroup {
    /// A group of the given first units of `shape`, in order; none at all is allowed and matches every key.
    ///
    /// Allocates once. Errors: a unit of the wrong length, or more units than were built.
    pub fn from_units(shape: GroupShape, units: &[&[u8]]) -> Result<Self, FilterError> {
        if units.len() > usize::from(shape.unit_count()) {
            return Err(FilterError::TooManyUnits { got: units.len(), built: shape.unit_count() });
        }
        // All of it before the allocation: a shape from damaged bytes may ask for gigabytes that nobody has.
        for (unit, bytes) in units.iter().enumerate() {
            check_unit_bytes(shape, unit, bytes)?;
        }
        let mut group = Self::zeroed(shape, units.len() as u8);
        for (unit, bytes) in units.iter().enumerate() {
            group.set_unit(unit, bytes);
        }
        Ok(group)
    }

    /// A copy of this group with one more unit. Errors as [`from_units`](Self::from_units).
    pub fn with_next_unit(&self, unit: &[u8]) -> Result<Self, FilterError> {
        if self.resident >= self.shape.unit_count() {
            return Err(FilterError::TooManyUnits {
                got: usize::from(self.resident) + 1,
                built: self.shape.unit_count(),
            });
        }
        check_unit_bytes(self.shape, usize::from(self.resident), unit)?;
        let mut group = Self::zeroed(self.shape, self.resident + 1);
        group.copy_units(self);
        group.set_unit(usize::from(self.resident), unit);
        Ok(group)
    }

    /// A copy of this group's first `resident_units` units; all of them if there are fewer.
    pub fn truncated(&self, resident_units: u8) -> Self {
        let mut group = Self::zeroed(self.shape, resident_units.min(self.resident));
        group.copy_units(self);
        group
    }

    /// Whether a key with this digest may be in the segment; `false` is certain. No allocation, no lock.
    #[inline]
    pub fn may_match(&self, digest: KeyDigest) -> bool {
        if self.unit_words == 0 {
            return self.resident == 0;
        }
        self.shape.family_shape().may_match(&self.words, self.unit_words, self.resident, digest)
    }

    /// Units in memory.
    pub fn resident_units(&self) -> u8 {
        self.resident
    }

    /// What the segment's units were built as.
    pub fn shape(&self) -> GroupShape {
        self.shape
    }

    /// Bytes of memory that this group takes: itself and its allocation with the allocator's rounding. What holds the
    /// group (an `Arc`, a slot) is the holder's to count.
    pub fn memory_bytes(&self) -> usize {
        Self::memory_bytes_for(self.shape, self.resident)
    }

    /// [`memory_bytes`](Self::memory_bytes) of a group that does not exist yet.
    pub fn memory_bytes_for(shape: GroupShape, resident_units: u8) -> usize {
        let resident = usize::from(resident_units.min(shape.unit_count()));
        size_of::<Self>() + allocated_bytes(shape.unit_bytes() * resident)
    }

    fn zeroed(shape: GroupShape, resident: u8) -> Self {
        let unit_words = shape.unit_words();
        let words = vec![0; unit_words as usize * usize::from(resident)].into_boxed_slice();
        Self { words, shape, unit_words, resident }
    }

    /// Where a unit's first word is, and how far its words are apart.
    fn place(&self, unit: usize) -> (usize, usize) {
        let lanes = self.shape.family_shape().lanes();
        let first_of_lane = unit - unit % lanes;
        let units_in_lane = lanes.min(usize::from(self.resident) - first_of_lane);
        (first_of_lane * self.unit_words as usize + unit % lanes, units_in_lane)
    }

    /// `bytes` have the right length.
    fn set_unit(&mut self, unit: usize, bytes: &[u8]) {
        let (chunks, _) = bytes.as_chunks::<8>();
        let (first, step) = self.place(unit);
        let words = self.words.iter_mut().skip(first).step_by(step);
        words.zip(chunks).for_each(|(word, &chunk)| *word = u64::from_le_bytes(chunk));
    }

    /// Copies the units that both groups have room for; both are of one shape.
    fn copy_units(&mut self, from: &Self) {
        for unit in 0..usize::from(self.resident.min(from.resident)) {
            let ((first, step), (from_first, from_step)) = (self.place(unit), from.place(unit));
            let words = self.words.iter_mut().skip(first).step_by(step);
            let from_words = from.words.iter().skip(from_first).step_by(from_step);
            words.zip(from_words.take(self.unit_words as usize)).for_each(|(to, from)| *to = *from);
        }
    }
}

/// Bytes that glibc's malloc takes for a request: a header of 8, in steps of 16, at least 32.
fn allocated_bytes(requested: usize) -> usize {
    if requested == 0 { 0 } else { (requested + 8).next_multiple_of(16).max(32) }
}

fn check_unit_bytes(shape: GroupShape, unit: usize, bytes: &[u8]) -> Result<(), FilterError> {
    match (bytes.len(), shape.unit_bytes()) {
        (got, expected) if got != expected => Err(FilterError::UnitBytes { unit, got, expected }),
        _ => Ok(()),
    }
}
