//! A packed index: its shape, and where its parts are.

use std::ops::Range;

use crate::code::Code;

/// Entries of a group: on average half as many are decoded to find one.
pub(crate) const GROUP: usize = 32;

/// The entries of a table's index, in a few bytes each.
#[derive(Debug)]
pub struct PackedIndex {
    pub(crate) entries: usize,
    /// That all separators begin with.
    pub(crate) prefix: Box<[u8]>,
    pub(crate) symbols: Box<[u8]>,
    pub(crate) width: u32,
    pub(crate) codes: Codes,
    /// Where in `body` each group begins.
    pub(crate) groups: Box<[u32]>,
    pub(crate) body: Box<[u8]>,
}

/// Of what each entry has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codes {
    /// Bits that the separator, behind the prefix, shares with the one before.
    pub(crate) shared: Code,
    /// Bytes of the separator behind the one in which it differs.
    pub(crate) further: Code,
    /// Bytes between the block and the one before.
    pub(crate) gap: Code,
    pub(crate) size: Code,
}

/// The first entry of a group.
pub(crate) struct GroupHead {
    /// The separator behind the prefix, in the body.
    pub(crate) suffix: Range<usize>,
    pub(crate) offset: u64,
    pub(crate) size: u32,
    /// Where the other entries begin, in bytes.
    pub(crate) others: usize,
}

impl GroupHead {
    pub(crate) fn encoded(suffix: &[u8], offset: u64, size: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [suffix.len() as u64, offset, u64::from(size)] {
            write_varint(number, &mut bytes);
        }
        bytes.extend_from_slice(suffix);
        bytes
    }
}

impl PackedIndex {
    /// How many blocks it has.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// The bytes of each allocation that it has on the heap.
    pub fn allocations(&self) -> [usize; 4] {
        [self.prefix.len(), self.symbols.len(), size_of_val(&*self.groups), self.body.len()]
    }

    #[inline]
    pub(crate) fn head_at(&self, at: u32) -> GroupHead {
        let mut at = at as usize;
        let mut number = || read_varint(&self.body, &mut at);
        let (suffix_bytes, offset, size) = (number() as usize, number(), number() as u32);
        let others = at + suffix_bytes;
        GroupHead { suffix: at..others, offset, size, others }
    }
}

fn write_varint(mut number: u64, to: &mut Vec<u8>) {
    while number >= 128 {
        to.push(number as u8 | 128);
        number >>= 7;
    }
    to.push(number as u8);
}

#[inline]
fn read_varint(bytes: &[u8], at: &mut usize) -> u64 {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = bytes[*at];
        *at += 1;
        number |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return number;
        }
        shift += 7;
    }
}
