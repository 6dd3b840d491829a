//! Finds the first entry of a group that is not below a key.
//!
//! The last entry that was looked at is below the key, with which it has some first bytes in common. If the next entry shares more than
//! these with it, it is below the key as well; if it shares less, it is not: separators rise. Only one that shares as much is decoded, as
//! far as it is the same as the key.

use std::cmp::Ordering;

use crate::bits::BitReader;
use crate::cursor::Cursor;
use crate::packed::{GROUP, PackedIndex};

impl Cursor {
    /// Goes to the first entry whose separator is, behind the prefix, at least `key`.
    pub(crate) fn search(&mut self, index: &PackedIndex, key: &[u8]) {
        let below = index.groups_below(key);
        let Some(group) = below.checked_sub(1) else { return self.go_to_group(index, 0) };
        self.go_to_group(index, group);
        if !self.search_group(index, group, key) {
            match below < index.groups().len() {
                true => self.go_to_group(index, below),
                false => self.at = index.entries(),
            }
        }
    }

    /// The same from the first entry of a group on, which is below the key. `false` if all of its entries are.
    fn search_group(&mut self, index: &PackedIndex, group: usize, key: &[u8]) -> bool {
        let head = index.head(group).suffix;
        let mut common = head.iter().zip(key).take_while(|(a, b)| a == b).count();
        // Of the last entry, in its first byte that is not in common; nobody asks for it if there is none.
        let mut before = head.get(common).map_or(0, |&byte| index.code(byte));
        let mut from = BitReader::new(index.body(), self.next_bit);
        let end = index.entries().min(self.at + GROUP);
        while self.at + 1 < end {
            self.at += 1;
            let difference = index.read_difference(self.suffix_bytes, &mut from);
            let rest = from;
            self.pass(index, &difference, &mut from);
            match difference.whole.cmp(&common) {
                Ordering::Greater => continue,
                Ordering::Less => return true,
                Ordering::Equal => {}
            }
            let mut differs = None;
            for code in index.rest_of(&difference, before, rest) {
                let byte = index.symbols()[usize::from(code)];
                if key.get(common) != Some(&byte) {
                    differs = Some((code, byte));
                    break;
                }
                common += 1;
            }
            match (differs, key.get(common)) {
                (Some((code, byte)), Some(sought)) if byte < *sought => before = code,
                // It is the beginning of the key.
                (None, Some(_)) => {}
                _ => return true,
            }
        }
        false
    }
}
