//! Packs the entries of an index.

use crate::alphabet::Alphabet;
use crate::bits::BitWriter;
use crate::code::Code;
use crate::cursor::Cursor;
use crate::difference::Difference;
use crate::packed::{Block, Codes, GROUP, GroupHead, PackedIndex};

/// Takes the entries of an index, in their order.
#[derive(Default)]
pub struct Packer {
    /// One behind the other.
    separators: Vec<u8>,
    entries: Vec<Entry>,
    is_refused: bool,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    separator_end: usize,
    block: Block,
    /// Bytes behind the block before.
    gap: u32,
}

impl Packer {
    /// The next entry: where the block lies that has the keys up to `separator`.
    pub fn add(&mut self, separator: &[u8], offset: u64, size: u64) {
        let last = self.entries.last();
        let from =
            last.map_or(Some(offset), |last| last.block.offset.checked_add(u64::from(last.block.size)));
        let gap = from.and_then(|from| offset.checked_sub(from)).and_then(|gap| u32::try_from(gap).ok());
        let is_next = last.is_none() || separator > self.separator(self.entries.len() - 1);
        let (Some(gap), Ok(size), true) = (gap, u32::try_from(size), is_next) else {
            self.is_refused = true;
            return;
        };
        self.separators.extend_from_slice(separator);
        self.entries.push(Entry { separator_end: self.separators.len(), block: Block { offset, size }, gap });
    }

    /// The index. `None` if there was no entry, or one that cannot be packed: separators rise byte by byte, blocks follow one another, and
    /// each has fewer than 2^32 bytes.
    pub fn finish(self) -> Option<PackedIndex> {
        let count = self.entries.len();
        if self.is_refused || count == 0 || u32::try_from(self.separators.len()).is_err() {
            return None;
        }
        let (first, last) = (self.separator(0), self.separator(count - 1));
        let prefix = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        let suffix = |at: usize| &self.separator(at)[prefix..];
        let alphabet = Alphabet::of((0..count).flat_map(|at| suffix(at).iter().copied()));
        let width = alphabet.width();
        let others = || (1..count).filter(|at| at % GROUP != 0);
        let differences: Vec<Difference> =
            others().map(|at| Difference::of(suffix(at - 1), suffix(at), &alphabet)).collect();
        let codes = Codes {
            shared: Code::of(differences.iter().map(|difference| difference.shared(width)).collect()),
            further: Code::of(differences.iter().map(|difference| difference.further()).collect()),
            gap: Code::of(others().map(|at| self.entries[at].gap).collect()),
            size: Code::of(others().map(|at| self.entries[at].block.size).collect()),
        };
        let mut body = BitWriter::default();
        let mut groups = Vec::with_capacity(4 * count.div_ceil(GROUP));
        let mut differences = differences.into_iter();
        for (at, entry) in self.entries.iter().enumerate() {
            if at % GROUP == 0 {
                groups.extend(u32::try_from(body.byte_len()).ok()?.to_le_bytes());
                body.put_bytes(&GroupHead::encoded(suffix(at), entry.block));
                continue;
            }
            let difference = differences.next()?;
            codes.shared.write(difference.shared(width), &mut body);
            codes.further.write(difference.further(), &mut body);
            difference.write_rest(suffix(at), &alphabet, &mut body);
            codes.gap.write(entry.gap, &mut body);
            codes.size.write(entry.block.size, &mut body);
        }
        let parts = [alphabet.symbols(), &first[..prefix], &groups, &body.finish()];
        let index = PackedIndex::new(u32::try_from(count).ok()?, width, codes, parts)?;
        self.is_in(&index).then_some(index)
    }

    fn separator(&self, at: usize) -> &[u8] {
        let from = if at == 0 { 0 } else { self.entries[at - 1].separator_end };
        &self.separators[from..self.entries[at].separator_end]
    }

    /// Whether the index has these entries: if not, nobody uses it.
    fn is_in(&self, index: &PackedIndex) -> bool {
        let mut cursor = Cursor::default();
        (0..self.entries.len()).all(|at| {
            let found = if at == 0 { cursor.first(index) } else { cursor.next(index) };
            found == Some(self.entries[at].block) && cursor.separator(index) == self.separator(at)
        })
    }
}
