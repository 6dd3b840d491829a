//! The resident prefix of a segment's units, which lookups probe.
//!
//! Invariant: the `resident * unit_words` words of a group lie in one allocation. A probe touches the group's own cache line and then the
//! lines of units. Units are stored in lanes of as many as the kind reads together. Within a lane their words are interleaved. The last
//! lane may have fewer units.

use crate::kind::{KindShape, Probe};
use crate::{FilterError, GroupShape, KeyDigest};

/// The layout of a segment's units in four bytes: what a lookup needs in addition to their words and number. Kept apart from the words, it
/// gives the addresses of a probe without another memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeLayout(u32);

/// Bits of the number of words in a unit: at most 2^21 words, for [`KEYS_MAX`](crate::KEYS_MAX) keys of eight bits.
const UNIT_WORDS_BITS: u32 = 22;

impl ProbeLayout {
    /// The layout of units of this shape.
    pub fn new(shape: GroupShape) -> Self {
        Self(shape.unit_words() | u32::from(shape.kind_shape().to_bits()) << UNIT_WORDS_BITS)
    }

    /// The layout as plain bits.
    pub fn to_bits(self) -> u32 {
        self.0
    }

    /// The inverse of [`to_bits`](Self::to_bits). Errors on bits of a kind that does not exist.
    #[inline]
    pub fn from_bits(bits: u32) -> Result<Self, FilterError> {
        KindShape::from_bits((bits >> UNIT_WORDS_BITS) as u16).map(|_| Self(bits))
    }

    /// Words of 64 bits in each unit.
    #[inline]
    fn unit_words(self) -> u32 {
        self.0 & ((1 << UNIT_WORDS_BITS) - 1)
    }

    #[inline]
    fn kind(self) -> KindShape {
        KindShape::from_bits((self.0 >> UNIT_WORDS_BITS) as u16).expect("checked when the layout was made")
    }

    /// The probe of this digest.
    #[inline]
    pub fn probe(self, digest: KeyDigest) -> Probe {
        self.kind().probe(self.unit_words(), digest)
    }
}

/// How the first units of a segment lie in words that somebody else owns. The manager keeps the words of a group behind a reference
/// count, and the index on flash those of many groups one after the other: each in one allocation of its own form. Who needs no such form
/// takes a [`FilterGroup`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupLayout {
    of_unit: ProbeLayout,
    resident: u8,
}

impl GroupLayout {
    /// The layout of the first `resident_units` units of `shape`, or of all if it has fewer.
    pub fn new(shape: GroupShape, resident_units: u8) -> Self {
        Self { of_unit: ProbeLayout::new(shape), resident: resident_units.min(shape.unit_count()) }
    }

    /// Words of 64 bits in each unit.
    pub fn unit_words(&self) -> usize {
        self.of_unit.unit_words() as usize
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
        self.of_unit.probe(digest).rejecting_unit(words, self.resident)
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

    /// Brings the first units of a group, which lie in `words` as `from` says, to where this layout has them. `words` has room for the
    /// longer of both. A unit that `from` lacks is not set. Both must have the same shape. Allocates nothing.
    pub fn rearrange(&self, words: &mut [u64], from: &Self) {
        let kept = usize::from(self.resident.min(from.resident));
        let Some(last) = kept.checked_sub(1) else { return };
        // Full lanes lie alike in both. Only the last lane with kept units may be wider in one of them.
        let ((first, step), (_, from_step)) = (self.place(last - last % self.lanes()), from.place(last));
        let count = last % self.lanes() + 1;
        let moves = (0..self.unit_words()).flat_map(|word| {
            (0..count).map(move |unit| (first + word * from_step + unit, first + word * step + unit))
        });
        // The words in front are the last to go to a place further back, and the first to go further to the front.
        if step > from_step {
            moves.rev().for_each(|(from, to)| words[to] = words[from]);
        } else {
            moves.for_each(|(from, to)| words[to] = words[from]);
        }
    }

    /// Units that lie interleaved.
    fn lanes(&self) -> usize {
        self.of_unit.kind().lanes()
    }

    /// Position of a unit's first word, and the stride of its words.
    fn place(&self, unit: usize) -> (usize, usize) {
        let lanes = self.lanes();
        let first_of_lane = unit - unit % lanes;
        let units_in_lane = lanes.min(usize::from(self.resident) - first_of_lane);
        (first_of_lane * self.unit_words() + unit % lanes, units_in_lane)
    }
}

/// The first units of a segment with their words: a [`GroupLayout`] that owns what it lays out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterGroup {
    layout: GroupLayout,
    words: Box<[u64]>,
}

impl FilterGroup {
    /// A group of the first units of `shape`, in order. A group without units matches every key.
    ///
    /// Allocates once. Errors: a unit of the wrong length, or more units than were built.
    pub fn from_units(shape: GroupShape, units: &[&[u8]]) -> Result<Self, FilterError> {
        if units.len() > usize::from(shape.unit_count()) {
            return Err(FilterError::TooManyUnits { got: units.len(), built: shape.unit_count() });
        }
        // Before the allocation: a shape from damaged bytes may ask for gigabytes.
        let expected = shape.unit_bytes();
        if let Some(unit) = units.iter().position(|bytes| bytes.len() != expected) {
            return Err(FilterError::UnitBytes { unit, got: units[unit].len(), expected });
        }
        let layout = GroupLayout::new(shape, units.len() as u8);
        let mut words = vec![0; layout.words()].into_boxed_slice();
        for (unit, bytes) in units.iter().enumerate() {
            layout.set_unit(&mut words, unit, bytes)?;
        }
        Ok(Self { layout, words })
    }

    /// Whether a key with this digest may be in the segment. `false` is certain. No allocation, no lock.
    #[inline]
    pub fn may_match(&self, digest: KeyDigest) -> bool {
        self.layout.may_match(&self.words, digest)
    }

    /// The first unit that rejects the digest. `None` if the key may be in the segment.
    #[inline]
    pub fn rejecting_unit(&self, digest: KeyDigest) -> Option<u8> {
        self.layout.rejecting_unit(&self.words, digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_an_unknown_kind_are_no_layout() {
        for kind in 0..4 {
            let layout = ProbeLayout::from_bits(kind << 30 | 7);
            match kind {
                0 | 1 => assert_eq!(layout.map(ProbeLayout::to_bits), Ok(kind << 30 | 7)),
                got => assert_eq!(layout, Err(FilterError::UnknownKind { got: got as u8 })),
            }
        }
    }
}
