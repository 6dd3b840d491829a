//! The resident prefix of a segment's units: the thing that a lookup probes.
//!
//! Invariant: `words` holds `resident * unit_words` words, unit after unit, in one allocation, so that a probe costs
//! the group's own cache line and then the units' lines, nothing in between.

use crate::family::FamilyShape;
use crate::{FilterError, GroupShape, KeyDigest};

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
        let mut words = Vec::with_capacity(shape.unit_words() as usize * units.len());
        for (unit, bytes) in units.iter().enumerate() {
            append_unit(&mut words, shape, unit, bytes)?;
        }
        Ok(Self::new(shape, words, units.len() as u8))
    }

    /// A copy of this group with one more unit. Errors as [`from_units`](Self::from_units).
    pub fn with_next_unit(&self, unit: &[u8]) -> Result<Self, FilterError> {
        if self.resident >= self.shape.unit_count() {
            return Err(FilterError::TooManyUnits {
                got: usize::from(self.resident) + 1,
                built: self.shape.unit_count(),
            });
        }
        let mut words = Vec::with_capacity(self.words.len() + self.unit_words as usize);
        words.extend_from_slice(&self.words);
        append_unit(&mut words, self.shape, usize::from(self.resident), unit)?;
        Ok(Self::new(self.shape, words, self.resident + 1))
    }

    /// A copy of this group's first `resident_units` units; all of them if there are fewer.
    pub fn truncated(&self, resident_units: u8) -> Self {
        let resident = resident_units.min(self.resident);
        let words = self.words[..self.unit_words as usize * usize::from(resident)].to_vec();
        Self::new(self.shape, words, resident)
    }

    fn new(shape: GroupShape, words: Vec<u64>, resident: u8) -> Self {
        Self { words: words.into_boxed_slice(), shape, unit_words: shape.unit_words(), resident }
    }

    /// Whether a key with this digest may be in the segment; `false` is certain. No allocation, no lock.
    #[inline]
    pub fn may_match(&self, digest: KeyDigest) -> bool {
        if self.unit_words == 0 {
            return self.resident == 0;
        }
        match self.shape.family_shape() {
            FamilyShape::Bloom(bloom) => bloom.may_match(&self.words, self.unit_words, digest),
        }
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
}

/// Bytes that glibc's malloc takes for a request: a header of 8, in steps of 16, at least 32.
fn allocated_bytes(requested: usize) -> usize {
    if requested == 0 { 0 } else { (requested + 8).next_multiple_of(16).max(32) }
}

fn append_unit(
    words: &mut Vec<u64>,
    shape: GroupShape,
    unit: usize,
    bytes: &[u8],
) -> Result<(), FilterError> {
    if bytes.len() != shape.unit_bytes() {
        return Err(FilterError::UnitBytes { unit, got: bytes.len(), expected: shape.unit_bytes() });
    }
    let (chunks, _) = bytes.as_chunks::<8>();
    words.extend(chunks.iter().map(|&chunk| u64::from_le_bytes(chunk)));
    Ok(())
}
