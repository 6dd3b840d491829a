//! A packed index: its shape, and where its parts are.

use crate::code::Code;

/// Entries of a group: on average half as many are decoded to find one.
pub(crate) const GROUP: usize = 32;

/// The entries of a table's index, in a few bytes each.
#[derive(Debug)]
pub struct PackedIndex {
    pub(crate) entries: u32,
    /// Bits of a symbol's code.
    pub(crate) width: u32,
    pub(crate) codes: Codes,
    symbols_end: u32,
    prefix_end: u32,
    groups_end: u32,
    /// The symbols, the prefix, where in the body each group begins, and the body.
    bytes: Box<[u8]>,
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

/// The block of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Where it begins in its file.
    pub offset: u64,
    /// Without what stands behind it.
    pub size: u32,
}

/// The first entry of a group.
pub(crate) struct GroupHead<'a> {
    /// The separator behind the prefix.
    pub(crate) suffix: &'a [u8],
    pub(crate) block: Block,
    /// Where the other entries begin in the body, in bytes.
    pub(crate) others: usize,
}

impl GroupHead<'_> {
    pub(crate) fn encoded(suffix: &[u8], block: Block) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_varint(suffix.len() as u64, &mut bytes);
        bytes.extend_from_slice(suffix);
        write_varint(block.offset, &mut bytes);
        write_varint(block.size.into(), &mut bytes);
        bytes
    }
}

impl PackedIndex {
    /// `parts`: the symbols, the prefix, the groups, the body. `None` if they are too long.
    pub(crate) fn new(entries: u32, width: u32, codes: Codes, parts: [&[u8]; 4]) -> Option<Self> {
        let bytes = parts.concat();
        u32::try_from(bytes.len()).ok()?;
        let [symbols_end, prefix_end, groups_end] =
            [1, 2, 3].map(|count| parts[..count].iter().map(|part| part.len() as u32).sum());
        Some(Self { entries, width, codes, symbols_end, prefix_end, groups_end, bytes: bytes.into() })
    }

    /// How many blocks it has.
    pub fn entries(&self) -> usize {
        self.entries as usize
    }

    #[inline]
    pub(crate) fn symbols(&self) -> &[u8] {
        &self.bytes[..self.symbols_end as usize]
    }

    /// The code of a byte that occurs.
    pub(crate) fn code(&self, byte: u8) -> u8 {
        self.symbols().partition_point(|&symbol| symbol < byte) as u8
    }

    /// That all separators begin with.
    #[inline]
    pub(crate) fn prefix(&self) -> &[u8] {
        &self.bytes[self.symbols_end as usize..self.prefix_end as usize]
    }

    /// Where in the body each group begins.
    #[inline]
    pub(crate) fn groups(&self) -> &[[u8; 4]] {
        self.bytes[self.prefix_end as usize..self.groups_end as usize].as_chunks().0
    }

    #[inline]
    pub(crate) fn body(&self) -> &[u8] {
        &self.bytes[self.groups_end as usize..]
    }

    /// What it takes on the heap: one allocation.
    pub fn heap_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The separator, behind the prefix, of the entry that a group begins with, and where it ends.
    #[inline]
    fn suffix_at(&self, begin: [u8; 4]) -> (&[u8], usize) {
        let mut at = u32::from_le_bytes(begin) as usize;
        let bytes = read_varint(self.body(), &mut at) as usize;
        (&self.body()[at..at + bytes], at + bytes)
    }

    /// How many groups begin with an entry that is, behind the prefix, below the key.
    pub(crate) fn groups_below(&self, key: &[u8]) -> usize {
        self.groups().partition_point(|&begin| self.suffix_at(begin).0 < key)
    }

    pub(crate) fn head(&self, group: usize) -> GroupHead<'_> {
        let (suffix, mut at) = self.suffix_at(self.groups()[group]);
        let [offset, size] = [(); 2].map(|()| read_varint(self.body(), &mut at));
        GroupHead { suffix, block: Block { offset, size: size as u32 }, others: at }
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
