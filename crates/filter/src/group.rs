//! The resident prefix of a segment's units, which lookups probe.
//!
//! Invariant: the `resident * unit_words` words of a group lie in one allocation. A probe touches the group's own cache line and then the
//! lines of units. Units are stored in lanes of as many as the family reads together. Within a lane their words are interleaved. The last
//! lane may have fewer units.

use crate::family::{FamilyShape, Probe};
use crate::{FilterError, GroupShape, KeyDigest};

/// The layout of a segment's units in four bytes: what a lookup needs beside their words and number. Kept apart from the words, it gives
/// the addresses of a probe without another memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeLayout(u32);

/// Bits of the number of words in a unit: at most 2^21 words, for [`KEYS_MAX`](crate::KEYS_MAX) keys of eight bits.
const UNIT_WORDS_BITS: u32 = 22;

impl ProbeLayout {
    /// The layout of units of this shape.
    pub fn new(shape: GroupShape) -> Self {
        Self(shape.unit_words() | u32::from(shape.family_shape().to_bits()) << UNIT_WORDS_BITS)
    }

    /// The layout as plain bits.
    pub fn to_bits(self) -> u32 {
        self.0
    }

    /// The inverse of [`to_bits`](Self::to_bits). Errors on bits of a family that does not exist.
    #[inline]
    pub fn from_bits(bits: u32) -> Result<Self, FilterError> {
        FamilyShape::from_bits((bits >> UNIT_WORDS_BITS) as u16).map(|_| Self(bits))
    }

    /// Words of 64 bits in each unit.
    #[inline]
    fn unit_words(self) -> u32 {
        self.0 & ((1 << UNIT_WORDS_BITS) - 1)
    }

    #[inline]
    fn family(self) -> FamilyShape {
        FamilyShape::from_bits((self.0 >> UNIT_WORDS_BITS) as u16).expect("checked when the layout was made")
    }

    /// The probe of this digest.
    #[inline]
    pub fn probe(self, digest: KeyDigest) -> Probe {
        self.family().probe(self.unit_words(), digest)
    }
}

/// The layout of a group's words, for owners that allocate the words themselves. [`FilterGroup`] owns its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupLayout {
    layout: ProbeLayout,
    resident: u8,
}

impl GroupLayout {
    /// The layout of the first `resident_units` units of `shape`, or of all if it has fewer.
    pub fn new(shape: GroupShape, resident_units: u8) -> Self {
        Self { layout: ProbeLayout::new(shape), resident: resident_units.min(shape.unit_count()) }
    }

    /// Words of 64 bits in each unit.
    pub fn unit_words(&self) -> usize {
        self.layout.unit_words() as usize
    }

    /// Number of words of the group.
    pub fn words(&self) -> usize {
        self.unit_words() * usize::from(self.resident)
    }

    /// Number of units in memory.
    pub fn resident_units(&self) -> u8 {
        self.resident
    }

    /// Whether a key with this digest may be in the segment whose units are in `words`. `false` is certain.
    #[inline]
    pub fn may_match(&self, words: &[u64], digest: KeyDigest) -> bool {
        self.rejecting_unit(words, digest).is_none()
    }

    /// See [`Probe::rejecting_unit`].
    #[inline]
    pub fn rejecting_unit(&self, words: &[u64], digest: KeyDigest) -> Option<u8> {
        self.layout.probe(digest).rejecting_unit(words, self.resident)
    }

    /// Copies a unit to its place in `words`. Errors: the unit has the wrong length or is not resident.
    pub fn set_unit(&self, words: &mut [u64], unit: usize, bytes: &[u8]) -> Result<(), FilterError> {
        if unit >= usize::from(self.resident) {
            return Err(FilterError::TooManyUnits { got: unit + 1, built: self.resident });
        }
        let expected = self.unit_words() * 8;
        if bytes.len() != expected {
            return Err(FilterError::UnitBytes { unit, got: bytes.len(), expected });
        }
        let (chunks, _) = bytes.as_chunks::<8>();
        let (first, step) = self.place(unit);
        let words = words.iter_mut().skip(first).step_by(step);
        words.zip(chunks).for_each(|(word, &chunk)| *word = u64::from_le_bytes(chunk));
        Ok(())
    }

    /// Copies the units that both groups have room for. Both must have the same shape.
    pub fn copy_units(&self, words: &mut [u64], from: &Self, from_words: &[u64]) {
        for unit in 0..usize::from(self.resident.min(from.resident)) {
            let ((first, step), (from_first, from_step)) = (self.place(unit), from.place(unit));
            let words = words.iter_mut().skip(first).step_by(step);
            let from_words = from_words.iter().skip(from_first).step_by(from_step);
            words.zip(from_words.take(self.unit_words())).for_each(|(to, from)| *to = *from);
        }
    }

    /// Position of a unit's first word, and the stride of its words.
    fn place(&self, unit: usize) -> (usize, usize) {
        let lanes = self.layout.family().lanes();
        let first_of_lane = unit - unit % lanes;
        let units_in_lane = lanes.min(usize::from(self.resident) - first_of_lane);
        (first_of_lane * self.unit_words() + unit % lanes, units_in_lane)
    }
}

/// The first units of one segment's group, in memory. Immutable: growing or shrinking makes a new group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterGroup {
    words: Box<[u64]>,
    shape: GroupShape,
    head: GroupLayout,
}

impl FilterGroup {
    /// A group of the first units of `shape`, in order. A group without units matches every key.
    ///
    /// Allocates once. Errors: a unit of the wrong length, or more units than were built.
    pub fn from_units(shape: GroupShape, units: &[&[u8]]) -> Result<Self, FilterError> {
        if units.len() > usize::from(shape.unit_count()) {
            return Err(FilterError::TooManyUnits { got: units.len(), built: shape.unit_count() });
        }
        // Checked before the allocation, because a shape from damaged bytes may need gigabytes.
        for (unit, bytes) in units.iter().enumerate() {
            check_unit_bytes(shape, unit, bytes)?;
        }
        let mut group = Self::zeroed(shape, units.len() as u8);
        for (unit, bytes) in units.iter().enumerate() {
            group.head.set_unit(&mut group.words, unit, bytes)?;
        }
        Ok(group)
    }

    /// A copy of this group with one more unit. Errors: see [`from_units`](Self::from_units).
    pub fn with_next_unit(&self, unit: &[u8]) -> Result<Self, FilterError> {
        let resident = self.head.resident;
        if resident >= self.shape.unit_count() {
            return Err(FilterError::TooManyUnits {
                got: usize::from(resident) + 1,
                built: self.shape.unit_count(),
            });
        }
        check_unit_bytes(self.shape, usize::from(resident), unit)?;
        let mut group = Self::zeroed(self.shape, resident + 1);
        group.head.copy_units(&mut group.words, &self.head, &self.words);
        group.head.set_unit(&mut group.words, usize::from(resident), unit)?;
        Ok(group)
    }

    /// A copy of the first `resident_units` units of this group, or of all if there are fewer.
    pub fn truncated(&self, resident_units: u8) -> Self {
        let mut group = Self::zeroed(self.shape, resident_units.min(self.head.resident));
        group.head.copy_units(&mut group.words, &self.head, &self.words);
        group
    }

    /// Whether a key with this digest may be in the segment. `false` is certain. No allocation, no lock.
    #[inline]
    pub fn may_match(&self, digest: KeyDigest) -> bool {
        self.head.may_match(&self.words, digest)
    }

    /// The first resident unit that rejects the digest. `None` if the key may be in the segment.
    #[inline]
    pub fn rejecting_unit(&self, digest: KeyDigest) -> Option<u8> {
        self.head.rejecting_unit(&self.words, digest)
    }

    /// Number of units in memory.
    pub fn resident_units(&self) -> u8 {
        self.head.resident
    }

    /// Shape of the segment's units.
    pub fn shape(&self) -> GroupShape {
        self.shape
    }

    /// Memory of this group in bytes: itself and its allocation, rounded like the allocator does. The owner counts what holds the group,
    /// such as an `Arc`.
    pub fn memory_bytes(&self) -> usize {
        Self::memory_bytes_for(self.shape, self.head.resident)
    }

    /// [`memory_bytes`](Self::memory_bytes) of a group that does not exist yet.
    pub fn memory_bytes_for(shape: GroupShape, resident_units: u8) -> usize {
        let resident = usize::from(resident_units.min(shape.unit_count()));
        size_of::<Self>() + allocated_bytes(shape.unit_bytes() * resident)
    }

    fn zeroed(shape: GroupShape, resident: u8) -> Self {
        let head = GroupLayout::new(shape, resident);
        Self { words: vec![0; head.words()].into_boxed_slice(), shape, head }
    }
}

/// Memory that glibc's malloc uses for a request: a header of 8 bytes, in steps of 16, at least 32.
fn allocated_bytes(requested: usize) -> usize {
    if requested == 0 { 0 } else { (requested + 8).next_multiple_of(16).max(32) }
}

fn check_unit_bytes(shape: GroupShape, unit: usize, bytes: &[u8]) -> Result<(), FilterError> {
    match (bytes.len(), shape.unit_bytes()) {
        (got, expected) if got != expected => Err(FilterError::UnitBytes { unit, got, expected }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_an_unknown_family_are_no_layout() {
        for family in 0..4 {
            let layout = ProbeLayout::from_bits(family << 30 | 7);
            match family {
                0 | 1 => assert_eq!(layout.map(ProbeLayout::to_bits), Ok(family << 30 | 7)),
                got => assert_eq!(layout, Err(FilterError::UnknownFamily { got: got as u8 })),
            }
        }
    }
}
