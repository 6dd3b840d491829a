//! How a separator differs from the one before, as an index has it.

use crate::alphabet::Alphabet;
use crate::bits::{BitReader, BitWriter};
use crate::packed::PackedIndex;

/// What is known of a separator before its rest is read.
#[derive(Clone, Copy)]
pub(crate) struct Difference {
    /// Bytes behind the prefix that it shares with the one before.
    pub(crate) whole: usize,
    /// Bits of the next byte's code that it shares.
    bits: u32,
    /// Whether it begins with the one before.
    is_longer: bool,
    /// Bytes behind the one that differs.
    further: usize,
}

impl Difference {
    pub(crate) fn of(before: &[u8], separator: &[u8], alphabet: &Alphabet) -> Self {
        let whole = before.iter().zip(separator).take_while(|(a, b)| a == b).count();
        let is_longer = whole == before.len();
        let bits = if is_longer {
            0
        } else {
            let different = alphabet.code(before[whole]) ^ alphabet.code(separator[whole]);
            different.leading_zeros() - (u8::BITS - alphabet.width())
        };
        Self { whole, bits, is_longer, further: separator.len() - whole - 1 }
    }

    /// Bytes of the separator behind the prefix.
    pub(crate) fn suffix_bytes(&self) -> usize {
        self.whole + 1 + self.further
    }

    /// Bits of the separator that it shares with the one before. `width`: bits of a byte's code.
    pub(crate) fn shared(&self, width: u32) -> u32 {
        self.whole as u32 * width + self.bits
    }

    pub(crate) fn further(&self) -> u32 {
        self.further as u32
    }

    /// Bits that are written of the byte that differs. Where it does, the larger has a one: that bit is known.
    fn written_bits(&self, width: u32) -> u32 {
        if self.is_longer { width } else { width - self.bits - 1 }
    }

    /// Bits that are written of the separator.
    pub(crate) fn rest_bits(&self, width: u32) -> usize {
        self.written_bits(width) as usize + self.further * width as usize
    }

    pub(crate) fn write_rest(&self, separator: &[u8], alphabet: &Alphabet, to: &mut BitWriter) {
        let width = alphabet.width();
        let mut written = self.written_bits(width);
        for &byte in &separator[self.whole..] {
            to.put(u64::from(alphabet.code(byte)), written);
            written = width;
        }
    }
}

impl PackedIndex {
    /// Reads how an entry differs from one of `bytes_before` behind the prefix.
    #[inline]
    pub(crate) fn read_difference(&self, bytes_before: usize, from: &mut BitReader<'_>) -> Difference {
        let shared = self.codes.shared.read(from);
        let further = self.codes.further.read(from) as usize;
        let (whole, bits) = ((shared / self.width) as usize, shared % self.width);
        Difference { whole, bits, is_longer: whole == bytes_before, further }
    }

    /// Codes of the bytes from the one that differs on. `before`: the code in its place in the separator before, if it has one.
    #[inline]
    pub(crate) fn rest_of<'a>(
        &'a self,
        difference: &Difference,
        before: u8,
        mut from: BitReader<'a>,
    ) -> impl Iterator<Item = u8> + use<'a> {
        let width = self.width;
        let Difference { bits, is_longer, further, .. } = *difference;
        let above = if is_longer { 0 } else { u32::from(before) >> (width - bits) << 1 | 1 };
        let written = difference.written_bits(width);
        let first = above << written | from.take(written) as u32;
        std::iter::once(first as u8).chain((0..further).map(move |_| from.take(width) as u8))
    }
}
