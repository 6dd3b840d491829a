//! Finds and walks the entries of a packed index.
//!
//! Separators are decoded when they are asked for: most lookups want only the block. [Searches](crate::search) do without, too.

use std::cmp::Ordering;

use crate::bits::BitReader;
use crate::difference::Difference;
use crate::packed::{Block, GROUP, PackedIndex};

/// A place in one index, or nowhere. Every call gets the same index.
#[derive(Debug, Default)]
pub struct Cursor {
    /// Which entry, if it is somewhere.
    pub(crate) at: usize,
    /// Where the next one begins in the index's body, in bits.
    pub(crate) next_bit: usize,
    /// Bytes of the separator behind the prefix.
    pub(crate) suffix_bytes: usize,
    pub(crate) block: Block,
    /// Whether `separator` and `codes` are those of the entry.
    is_decoded: bool,
    separator: Vec<u8>,
    /// Of the separator's bytes behind the prefix.
    codes: Vec<u8>,
}

impl Cursor {
    /// The first entry.
    pub fn first(&mut self, index: &PackedIndex) -> Option<Block> {
        self.go_to_group(index, 0);
        self.block(index)
    }

    /// The last entry.
    pub fn last(&mut self, index: &PackedIndex) -> Option<Block> {
        self.go_to(index, index.entries() - 1);
        self.block(index)
    }

    /// The first entry whose separator is at least `key`. Looks at up to a group of entries.
    pub fn seek(&mut self, index: &PackedIndex, key: &[u8]) -> Option<Block> {
        let prefix = index.prefix();
        let begin = &key[..key.len().min(prefix.len())];
        match begin.cmp(prefix) {
            Ordering::Less => self.go_to_group(index, 0),
            Ordering::Greater => self.at = index.entries(),
            Ordering::Equal => self.search(index, &key[prefix.len()..]),
        }
        self.block(index)
    }

    /// The entry behind this one.
    #[allow(clippy::should_implement_trait, reason = "it needs the index")]
    pub fn next(&mut self, index: &PackedIndex) -> Option<Block> {
        self.step(index);
        self.block(index)
    }

    /// The entry before this one.
    pub fn previous(&mut self, index: &PackedIndex) -> Option<Block> {
        match self.at.checked_sub(1) {
            Some(before) => self.go_to(index, before),
            None => self.at = index.entries(),
        }
        self.block(index)
    }

    /// The separator of the entry that the last move gave: at least the last key of the block, and smaller than the next block's first.
    /// Decodes up to a group, and then one entry in each call of [`next`](Self::next).
    pub fn separator(&mut self, index: &PackedIndex) -> &[u8] {
        if !self.is_decoded {
            let at = self.at;
            self.decode_head(index, at / GROUP);
            self.step_to(index, at);
        }
        &self.separator
    }

    fn block(&self, index: &PackedIndex) -> Option<Block> {
        (self.at < index.entries()).then_some(self.block)
    }

    fn go_to(&mut self, index: &PackedIndex, at: usize) {
        self.go_to_group(index, at / GROUP);
        self.step_to(index, at);
    }

    fn step_to(&mut self, index: &PackedIndex, at: usize) {
        while self.at < at {
            self.step(index);
        }
    }

    pub(crate) fn go_to_group(&mut self, index: &PackedIndex, group: usize) {
        let head = index.head(group);
        self.at = group * GROUP;
        self.block = head.block;
        self.suffix_bytes = head.suffix.len();
        self.next_bit = head.others * 8;
        self.is_decoded = false;
    }

    /// Goes to the entry that a group begins with, and decodes it.
    fn decode_head(&mut self, index: &PackedIndex, group: usize) {
        self.go_to_group(index, group);
        let suffix = index.head(group).suffix;
        self.separator.clear();
        self.separator.extend_from_slice(index.prefix());
        self.separator.extend_from_slice(suffix);
        self.codes.clear();
        self.codes.extend(suffix.iter().map(|&byte| index.code(byte)));
        self.is_decoded = true;
    }

    fn step(&mut self, index: &PackedIndex) {
        self.at += 1;
        if self.at >= index.entries() {
            self.at = index.entries();
            return;
        }
        if self.at.is_multiple_of(GROUP) {
            return self.go_to_group(index, self.at / GROUP);
        }
        let mut from = BitReader::new(index.body(), self.next_bit);
        let difference = index.read_difference(self.suffix_bytes, &mut from);
        if self.is_decoded {
            let whole = difference.whole;
            let before = self.codes.get(whole).copied().unwrap_or_default();
            self.codes.truncate(whole);
            self.separator.truncate(index.prefix().len() + whole);
            for code in index.rest_of(&difference, before, from) {
                self.codes.push(code);
                self.separator.push(index.symbols()[usize::from(code)]);
            }
        }
        self.pass(index, &difference, &mut from);
    }

    /// Goes on behind a separator that differs so, from where its rest begins.
    #[inline]
    pub(crate) fn pass(&mut self, index: &PackedIndex, difference: &Difference, from: &mut BitReader<'_>) {
        from.skip(difference.rest_bits(index.width));
        self.suffix_bytes = difference.suffix_bytes();
        self.block.offset += u64::from(self.block.size) + u64::from(index.codes.gap.read(from));
        self.block.size = index.codes.size.read(from);
        self.next_bit = from.position();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use rand::{Rng, RngExt};
    use springbloom_testkit::seed::rng;

    use super::*;
    use crate::Packer;

    type Blocks = BTreeMap<Vec<u8>, (u64, u32)>;

    fn packed(blocks: &Blocks) -> Option<PackedIndex> {
        let mut packer = Packer::default();
        for (separator, &(offset, size)) in blocks {
            packer.add(separator, offset, u64::from(size));
        }
        packer.finish()
    }

    /// In the order of the separators, one behind the other.
    fn blocks(separators: impl IntoIterator<Item = Vec<u8>>, sizes: impl Fn(usize) -> (u32, u32)) -> Blocks {
        let sorted: std::collections::BTreeSet<_> = separators.into_iter().collect();
        let mut offset = 0;
        let place = |(at, separator)| {
            let (gap, size) = sizes(at);
            let place = (offset + u64::from(gap), size);
            offset = place.0 + u64::from(size);
            (separator, place)
        };
        sorted.into_iter().enumerate().map(place).collect()
    }

    type Moved = Option<(Vec<u8>, (u64, u32))>;

    /// Moves, and gives the entry.
    fn moved(
        cursor: &mut Cursor,
        index: &PackedIndex,
        to: impl Fn(&mut Cursor, &PackedIndex) -> Option<Block>,
    ) -> Moved {
        let Block { offset, size } = to(cursor, index)?;
        Some((cursor.separator(index).to_vec(), (offset, size)))
    }

    /// Seeks to each separator, right before and behind it, and walks both ways from there.
    fn check(blocks: &Blocks, further_keys: &[Vec<u8>]) {
        let index = packed(blocks).expect("they can be packed");
        assert_eq!(index.entries(), blocks.len());
        let all: Vec<_> = blocks.clone().into_iter().collect();
        let mut cursor = Cursor::default();
        assert_eq!(moved(&mut cursor, &index, Cursor::first).as_ref(), all.first());
        for entry in &all[1..] {
            assert_eq!(moved(&mut cursor, &index, Cursor::next).as_ref(), Some(entry));
        }
        assert_eq!(cursor.next(&index), None);
        assert_eq!(moved(&mut cursor, &index, Cursor::last).as_ref(), all.last());
        for entry in all[..all.len() - 1].iter().rev() {
            assert_eq!(moved(&mut cursor, &index, Cursor::previous).as_ref(), Some(entry));
        }
        assert_eq!(cursor.previous(&index), None);
        let before = |key: &Vec<u8>| {
            let mut before = key.clone();
            if let Some(last) = before.pop().filter(|&last| last > 0) {
                before.extend([last - 1, 255, 255]);
            }
            before
        };
        let near = blocks.keys().flat_map(|key| [key.clone(), [&**key, &[0]].concat(), before(key)]);
        for key in near.chain(further_keys.iter().cloned()) {
            let at = all.partition_point(|(separator, _)| *separator < key);
            assert_eq!(
                moved(&mut cursor, &index, |cursor, index| cursor.seek(index, &key)).as_ref(),
                all.get(at),
                "{key:?}"
            );
            if at < all.len() {
                assert_eq!(
                    moved(&mut cursor, &index, Cursor::next).as_ref(),
                    all.get(at + 1),
                    "behind {key:?}"
                );
            }
            if at > 0 && at < all.len() {
                cursor.seek(&index, &key);
                assert_eq!(
                    moved(&mut cursor, &index, Cursor::previous).as_ref(),
                    Some(&all[at - 1]),
                    "before {key:?}"
                );
            }
        }
    }

    #[test]
    fn entries_are_as_they_were_with_keys_of_all_kinds() {
        let mut random = rng("keys of all kinds");
        let sizes = |at: usize| ([5, 5, 5, 4096][at % 4], 4000 + (at * at % 300) as u32);
        let digits =
            (0..700).map(|_| format!("user{:020}", random.random::<u64>()).into_bytes()).collect::<Vec<_>>();
        check(&blocks(digits, sizes), &[vec![], b"user".to_vec(), b"v".to_vec(), b"usa".to_vec()]);
        let bytes = (0..700).map(|_| random.random::<[u8; 3]>().to_vec()).collect::<Vec<_>>();
        check(&blocks(bytes, |_| (5, 4096)), &[]);
        let whole = (0..200).map(|_| random.random::<[u8; 16]>().to_vec()).collect::<Vec<_>>();
        check(&blocks(whole, |at| (5, if at == 77 { u32::MAX } else { 1 })), &[]);
        let urls = (0..100).flat_map(|site| {
            (0..9).map(move |page| format!("https://{site}.example/{}/{page}", "x/".repeat(site)))
        });
        check(&blocks(urls.map(String::into_bytes), sizes), &[b"https://5".to_vec()]);
        check(&blocks((0..100).map(|bytes| vec![0; bytes]), sizes), &[vec![1]]);
        check(&blocks([vec![]], sizes), &[vec![1]]);
        check(&blocks([vec![9; 5000], vec![9; 9000]], sizes), &[vec![9; 7000]]);
    }

    #[test]
    fn what_has_no_such_form_is_refused() {
        let finish = |entries: &[(&[u8], u64, u64)]| {
            let mut packer = Packer::default();
            entries.iter().for_each(|&(separator, offset, size)| packer.add(separator, offset, size));
            packer.finish().is_some()
        };
        assert!(finish(&[(b"a", 0, 9), (b"b", 14, 9)]));
        assert!(!finish(&[]));
        assert!(!finish(&[(b"b", 0, 9), (b"a", 14, 9)]), "they fall");
        assert!(!finish(&[(b"a", 0, 9), (b"a", 14, 9)]), "two are the same");
        assert!(!finish(&[(b"a", 0, 9), (b"b", 8, 9)]), "blocks overlap");
        assert!(!finish(&[(b"a", 0, 9), (b"b", u64::MAX, 9)]), "far away");
        assert!(!finish(&[(b"a", 0, 1 << 32)]), "a large block");
        assert!(!finish(&[(b"a", u64::MAX, 9), (b"b", 8, 9)]), "past the end");
    }

    /// Digits as an index has them: nearly the shortest that separate blocks of ten records.
    #[test]
    fn an_entry_takes_a_few_bytes() {
        let mut random = rng("bytes of an entry");
        let mut keys: Vec<_> = (0..50_000).map(|_| random.next_u64() % 10_u64.pow(12)).collect();
        keys.sort_unstable();
        let separators = keys.windows(2).step_by(10).map(|pair| {
            let digits = pair.iter().map(|key| format!("{key:024}")).collect::<Vec<_>>();
            let same = digits[0].bytes().zip(digits[1].bytes()).take_while(|(a, b)| a == b).count();
            digits[0].as_bytes()[..(same + 2).min(24)].to_vec()
        });
        let sizes: Vec<_> = (0..5000).map(|_| random.random_range(3900..4100)).collect();
        let index = packed(&blocks(separators, |at| (5, sizes[at]))).expect("they can be packed");
        let bytes = index.heap_bytes() as f64 / index.entries() as f64;
        assert!(bytes < 4.0, "{bytes} bytes an entry");
        println!("{bytes:.2} bytes an entry");
    }

    proptest! {
        #[test]
        fn entries_are_as_they_were(
            separators in prop::collection::btree_set(
                prop::collection::vec(prop::sample::select(vec![0_u8, 1, 7, 200, 255]), 0..9),
                1..200,
            ),
            keys in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 0..20),
            sizes in prop::collection::vec((any::<u32>(), any::<u32>()), 200),
        ) {
            check(&blocks(separators, |at| sizes[at]), &keys);
        }
    }
}
