//! Finds and walks the entries of a packed index.

use std::cmp::Ordering;

use crate::bits::BitReader;
use crate::packed::{GROUP, PackedIndex};

/// An entry of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// At least the last key of the block, and smaller than the next block's first.
    pub separator: &'a [u8],
    /// Where the block begins in its file.
    pub offset: u64,
    /// Of the block, without what stands behind it.
    pub size: u32,
}

/// A place in one index, or nowhere. Every call gets the same index.
#[derive(Debug, Default)]
pub struct Cursor {
    /// Which entry, if it is somewhere.
    at: usize,
    /// Where the next one begins in the index's body, in bits.
    next_bit: usize,
    separator: Vec<u8>,
    /// Of the separator's bytes behind the prefix.
    codes: Vec<u8>,
    offset: u64,
    size: u32,
}

impl Cursor {
    /// The first entry.
    pub fn first<'a>(&'a mut self, index: &PackedIndex) -> Option<Entry<'a>> {
        self.go_to_group(index, 0);
        self.entry(index)
    }

    /// The last entry.
    pub fn last<'a>(&'a mut self, index: &PackedIndex) -> Option<Entry<'a>> {
        self.go_to(index, index.entries() - 1);
        self.entry(index)
    }

    /// The first entry whose separator is at least `key`. Decodes up to a group.
    pub fn seek<'a>(&'a mut self, index: &PackedIndex, key: &[u8]) -> Option<Entry<'a>> {
        let prefix = index.prefix();
        let begin = &key[..key.len().min(prefix.len())];
        match begin.cmp(prefix) {
            Ordering::Less => return self.first(index),
            Ordering::Greater => {
                self.at = index.entries();
                return None;
            }
            Ordering::Equal => {}
        }
        let suffix = &key[prefix.len()..];
        let is_below = |&begin: &[u8; 4]| index.body()[index.head_at(begin).suffix] < *suffix;
        let below = index.groups().partition_point(is_below);
        self.go_to_group(index, below.saturating_sub(1));
        while self.at < index.entries() && self.separator[prefix.len()..] < *suffix {
            self.step(index);
        }
        self.entry(index)
    }

    /// The entry behind this one.
    #[allow(clippy::should_implement_trait, reason = "an iterator could not lend its entries")]
    pub fn next<'a>(&'a mut self, index: &PackedIndex) -> Option<Entry<'a>> {
        self.step(index);
        self.entry(index)
    }

    /// The entry before this one.
    pub fn previous<'a>(&'a mut self, index: &PackedIndex) -> Option<Entry<'a>> {
        match self.at.checked_sub(1) {
            Some(before) => self.go_to(index, before),
            None => self.at = index.entries(),
        }
        self.entry(index)
    }

    fn entry(&self, index: &PackedIndex) -> Option<Entry<'_>> {
        let Self { separator, offset, size, .. } = self;
        (self.at < index.entries()).then_some(Entry { separator, offset: *offset, size: *size })
    }

    fn go_to(&mut self, index: &PackedIndex, at: usize) {
        self.go_to_group(index, at / GROUP);
        while self.at < at {
            self.step(index);
        }
    }

    fn go_to_group(&mut self, index: &PackedIndex, group: usize) {
        let head = index.head_at(index.groups()[group]);
        let suffix = &index.body()[head.suffix];
        self.separator.clear();
        self.separator.extend_from_slice(index.prefix());
        self.separator.extend_from_slice(suffix);
        self.codes.clear();
        self.codes
            .extend(suffix.iter().map(|byte| index.symbols().partition_point(|symbol| symbol < byte) as u8));
        self.at = group * GROUP;
        (self.offset, self.size) = (head.offset, head.size);
        self.next_bit = head.others * 8;
    }

    fn step(&mut self, index: &PackedIndex) {
        if self.at + 1 >= index.entries() {
            self.at = index.entries();
            return;
        }
        if (self.at + 1).is_multiple_of(GROUP) {
            return self.go_to_group(index, (self.at + 1) / GROUP);
        }
        self.at += 1;
        let (width, codes) = (index.width, &index.codes);
        let mut from = BitReader::new(index.body(), self.next_bit);
        let shared = codes.shared.read(&mut from);
        let further = codes.further.read(&mut from) as usize;
        let (whole, bits) = ((shared / width) as usize, shared % width);
        // Where it differs from the one before, the larger has a one.
        let (above, known) = match self.codes.get(whole) {
            Some(code) => (u32::from(*code) >> (width - bits) << 1 | 1, bits + 1),
            None => (0, 0),
        };
        let mut code = above << (width - known) | from.take(width - known) as u32;
        self.codes.truncate(whole);
        self.separator.truncate(index.prefix().len() + whole);
        for left in (0..=further).rev() {
            self.codes.push(code as u8);
            self.separator.push(index.symbols()[code as usize]);
            if left > 0 {
                code = from.take(width) as u32;
            }
        }
        self.offset += u64::from(self.size) + u64::from(codes.gap.read(&mut from));
        self.size = codes.size.read(&mut from);
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

    fn owned(entry: Option<Entry<'_>>) -> Option<(Vec<u8>, (u64, u32))> {
        entry.map(|entry| (entry.separator.to_vec(), (entry.offset, entry.size)))
    }

    /// Seeks to each separator, right before and behind it, and walks both ways from there.
    fn check(blocks: &Blocks, further_keys: &[Vec<u8>]) {
        let index = packed(blocks).expect("they can be packed");
        assert_eq!(index.entries(), blocks.len());
        let all: Vec<_> = blocks.clone().into_iter().collect();
        let mut cursor = Cursor::default();
        assert_eq!(owned(cursor.first(&index)).as_ref(), all.first());
        for entry in &all[1..] {
            assert_eq!(owned(cursor.next(&index)).as_ref(), Some(entry));
        }
        assert_eq!(cursor.next(&index), None);
        assert_eq!(owned(cursor.last(&index)).as_ref(), all.last());
        for entry in all[..all.len() - 1].iter().rev() {
            assert_eq!(owned(cursor.previous(&index)).as_ref(), Some(entry));
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
            assert_eq!(owned(cursor.seek(&index, &key)).as_ref(), all.get(at), "{key:?}");
            if at < all.len() {
                assert_eq!(owned(cursor.next(&index)).as_ref(), all.get(at + 1), "behind {key:?}");
            }
            if at > 0 && at < all.len() {
                cursor.seek(&index, &key);
                assert_eq!(owned(cursor.previous(&index)).as_ref(), Some(&all[at - 1]), "before {key:?}");
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
