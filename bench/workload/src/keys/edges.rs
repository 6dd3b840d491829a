//! Keys that are edges of a graph: a source of 24 bytes, a type of one, a target of eight. The sources are the keys of `synthetic`.

use std::ops::Range;

use super::synthetic;
use crate::permutation::mix64;

/// Of the source, which is the prefix of a key.
pub const SOURCE_BYTES: usize = synthetic::KEY_BYTES;
/// Of source and type.
pub const TYPE_END: usize = SOURCE_BYTES + 1;
/// No edge has it.
pub const ABSENT_TYPE: u8 = b'9';
const TARGET_DIGITS: usize = 8;
pub(super) const KEY_BYTES: usize = TYPE_END + TARGET_DIGITS;
const EDGES_OF_SOURCE: u64 = 10;
const TYPES: u64 = 3;

#[inline]
pub(super) fn present(record: u64, key: &mut Vec<u8>) {
    let (source, edge) = (record / EDGES_OF_SOURCE, record % EDGES_OF_SOURCE);
    synthetic::present(source, key);
    // The first digit of its target tells the edges of a source apart.
    push(edge % TYPES, edge, mix64(record), key);
}

/// An edge of a source that has none.
#[inline]
pub(super) fn absent(number: u64, key: &mut Vec<u8>) {
    synthetic::absent(number, key);
    push(0, 0, mix64(number), key);
}

#[inline]
fn push(type_: u64, edge: u64, random: u64, key: &mut Vec<u8>) {
    let digit = |number: u64| b'0' + (number % 10) as u8;
    key.extend([digit(type_), digit(edge)]);
    let mut rest = random;
    for _ in 1..TARGET_DIGITS {
        key.push(digit(rest));
        rest /= 10;
    }
}

/// The records with the source of `record`.
pub fn of_same_source(record: u64) -> Range<u64> {
    let first = record - record % EDGES_OF_SOURCE;
    first..first + EDGES_OF_SOURCE
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn edges_share_their_source_and_no_two_are_equal() {
        let key = |make: fn(u64, &mut Vec<u8>), number| {
            let mut key = Vec::new();
            make(number, &mut key);
            assert_eq!(key.len(), KEY_BYTES);
            key
        };
        let keys: BTreeSet<_> = (0..10_000).map(|record| key(present, record)).collect();
        let prefixes = |bytes| keys.iter().map(|key| key[..bytes].to_vec()).collect::<BTreeSet<_>>();
        let sources = prefixes(SOURCE_BYTES);
        assert_eq!((keys.len(), sources.len(), prefixes(TYPE_END).len()), (10_000, 1_000, 3_000));
        assert!(keys.iter().all(|key| key[SOURCE_BYTES] != ABSENT_TYPE));
        for record in of_same_source(1_234) {
            assert_eq!(key(present, record)[..SOURCE_BYTES], key(present, 1_234)[..SOURCE_BYTES]);
        }
        for number in 0..10_000 {
            assert!(!sources.contains(&key(absent, number)[..SOURCE_BYTES]));
        }
    }
}
