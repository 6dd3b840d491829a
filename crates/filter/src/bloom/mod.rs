//! Bloom filter units (ElasticBF, ATC'19 section 3.2): each unit is a complete Bloom filter over the segment's keys, a
//! few bits per key, with an index stream of its own.
//!
//! A unit is one flat bit array, not cache-local blocks: at 4 bits per key the uneven load of 512-bit blocks costs
//! fpr in every unit, and the loss multiplies over the units. The few lines that a flat unit touches
//! instead are fetched in parallel, because the probes of one unit do not depend on each other.
//!
//! The bit positions are part of the on-disk format (`docs/format.md`).
//!
//! Invariants: the streams of two units are independent (the product is not linear in the digest, so that no sum of streams
//! cancels); a unit has a multiple of 64 bits.

mod fpr;
mod stream;

use crate::nibbles::Nibbles;
use crate::{FilterError, KeyDigest};
use stream::UnitStream;

/// Probes of a unit of 1..=8 bits per key: the number with the lowest rate, or one less if that costs under 1%.
const PROBES: [u8; 8] = [1, 1, 2, 3, 3, 4, 5, 5];

/// Maximum number of probes of a stored unit.
const MAX_PROBES: u8 = 8;

/// Parameters of Bloom units: bits per key in the low half, probes in the high half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BloomShape(pub(crate) Nibbles);

impl BloomShape {
    /// `bits_per_key` must be in 1..=8.
    pub(crate) fn for_bits(bits_per_key: u8) -> Self {
        Self(Nibbles::new(bits_per_key, PROBES[usize::from(bits_per_key) - 1]))
    }

    pub(crate) fn from_parameters(bits_per_key: u8, probes: u8) -> Result<Self, FilterError> {
        if bits_per_key == 0 || usize::from(bits_per_key) > PROBES.len() {
            return Err(FilterError::ShapeParameter { name: "bits_per_key", got: bits_per_key.into() });
        }
        if probes == 0 || probes > MAX_PROBES {
            return Err(FilterError::ShapeParameter { name: "probes", got: probes.into() });
        }
        Ok(Self(Nibbles::new(bits_per_key, probes)))
    }

    pub(crate) fn bits_per_key(self) -> u8 {
        self.0.low()
    }

    pub(crate) fn probes(self) -> u8 {
        self.0.high()
    }

    pub(crate) fn unit_words(self, key_count: u32) -> u32 {
        (u64::from(key_count) * u64::from(self.bits_per_key())).div_ceil(64) as u32
    }

    pub(crate) fn unit_fpr(self, key_count: u32) -> f64 {
        let bits = u64::from(self.unit_words(key_count)) * 64;
        fpr::bloom_fpr(bits, key_count.into(), self.probes())
    }

    /// Builds one unit.
    pub(crate) fn build(self, unit: u8, unit_words: u32, digests: &[KeyDigest]) -> Vec<u8> {
        let mut bytes = vec![0; unit_words as usize * 8];
        let bits = u64::from(unit_words) * 64;
        for &digest in digests {
            let stream = UnitStream::new(digest, usize::from(unit));
            for probe in 0..self.probes() {
                let bit = stream.bit(usize::from(probe), bits);
                bytes[(bit / 8) as usize] |= 1 << (bit % 8);
            }
        }
        bytes
    }

    /// `words` are the resident units in order, with `unit_words` > 0 words each.
    #[inline]
    pub(crate) fn rejecting_unit(self, words: &[u64], unit_words: u32, digest: KeyDigest) -> Option<u8> {
        match self.probes() {
            1 => first_rejection::<1>(words, unit_words, digest),
            2 => first_rejection::<2>(words, unit_words, digest),
            3 => first_rejection::<3>(words, unit_words, digest),
            4 => first_rejection::<4>(words, unit_words, digest),
            5 => first_rejection::<5>(words, unit_words, digest),
            6 => first_rejection::<6>(words, unit_words, digest),
            7 => first_rejection::<7>(words, unit_words, digest),
            _ => first_rejection::<8>(words, unit_words, digest),
        }
    }
}

#[inline]
fn first_rejection<const PROBES: usize>(words: &[u64], unit_words: u32, digest: KeyDigest) -> Option<u8> {
    let mut units = words.chunks_exact(unit_words as usize).enumerate();
    let rejecting = units.position(|(unit, words)| !match_unit::<PROBES>(words, unit, digest));
    rejecting.map(|unit| unit as u8)
}

/// Branch-free: half of the bits are set, so a branch per probe would be mispredicted half of the time and would serialise the loads.
#[inline]
fn match_unit<const PROBES: usize>(words: &[u64], unit: usize, digest: KeyDigest) -> bool {
    let bits = words.len() as u64 * 64;
    let stream = UnitStream::new(digest, unit);
    let mut all = 1;
    for probe in 0..PROBES {
        let bit = stream.bit(probe, bits);
        all &= words[(bit / 64) as usize] >> (bit % 64);
    }
    all & 1 == 1
}

#[cfg(test)]
mod tests;
