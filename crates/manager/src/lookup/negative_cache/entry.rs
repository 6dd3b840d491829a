//! An absence in few bytes, so that a bucket holds many.
//!
//! From the first byte: points (3 bits) and the entry's bytes (5), which stand in the next byte if they are too many; the table's number,
//! seven bits to a byte; the key. The form is one-to-one, so entries are equal, points aside, when tables and keys are.

use super::absent_key::AbsentKey;

/// Most bytes of a key.
pub(super) const KEY_BYTES_MAX: usize = 112;
/// Longest entry.
pub(super) const BYTES_MAX: usize = 2 + TABLE_BYTES_MAX + KEY_BYTES_MAX;
/// Shortest entry, and all that it takes to tell how long one is.
pub(super) const BYTES_MIN: usize = 2;

/// Most points. A hit on an entry that has them writes nothing. Unused, it survives so many bursts of new entries.
pub(super) const POINTS_MAX: u8 = 7;
const POINT: u8 = 1 << 5;
/// In the five bits of the length: the length is in the next byte.
const LONG: usize = 31;
const _: () = assert!(BYTES_MAX <= u8::MAX as usize);

/// Bytes of the largest table's number.
const TABLE_BYTES_MAX: usize = (u32::BITS as usize).div_ceil(7);

/// Classes of entries. A bucket's state tells of each class whether it has any.
pub(super) const CLASSES: u32 = 24;

/// An entry that is looked for or put in, without points.
pub(super) struct Entry {
    bytes: [u8; BYTES_MAX],
    used: usize,
}

impl Entry {
    /// `None` if the key is too long.
    pub(super) fn new(absence: &AbsentKey<'_>) -> Option<Self> {
        let &AbsentKey { table, key, .. } = absence;
        if key.len() > KEY_BYTES_MAX {
            return None;
        }
        let table_bytes = (u32::BITS - table.leading_zeros()).div_ceil(7).max(1) as usize;
        let short = 1 + table_bytes + key.len();
        let head: &[u8] = if short < LONG { &[short as u8] } else { &[LONG as u8, short as u8 + 1] };
        let mut entry = Self { bytes: [0; BYTES_MAX], used: head.len() + table_bytes + key.len() };
        let (head_place, rest) = entry.bytes.split_at_mut(head.len());
        let (table_place, key_place) = rest.split_at_mut(table_bytes);
        head_place.copy_from_slice(head);
        for (at, byte) in table_place.iter_mut().enumerate() {
            let more = if at + 1 < table_bytes { 0x80 } else { 0 };
            *byte = (table >> (7 * at)) as u8 & 0x7F | more;
        }
        key_place[..key.len()].copy_from_slice(key);
        Some(entry)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    pub(super) fn class(&self) -> u64 {
        class_of(self.bytes())
    }

    /// Whether that is an entry for the same table and key, with whatever points.
    #[inline]
    pub(super) fn same_key(&self, other: &[u8]) -> bool {
        other[0] % POINT == self.bytes[0] && other[1..] == self.bytes()[1..]
    }
}

/// Bytes of the entry that begins so, and where its table's number does.
#[inline]
fn extent(entry: &[u8]) -> (usize, usize) {
    match usize::from(entry[0] % POINT) {
        LONG => (entry[1].into(), 2),
        bytes => (bytes, 1),
    }
}

/// Bytes of the entry that begins so.
#[inline]
pub(super) fn bytes_of(entry: &[u8]) -> usize {
    extent(entry).0
}

/// Number of the table that the entry is about.
pub(super) fn table_of(entry: &[u8]) -> u32 {
    let (bytes, table_at) = extent(entry);
    let mut table = 0;
    for (at, byte) in entry[table_at..bytes].iter().enumerate() {
        table |= u32::from(byte & 0x7F) << (7 * at);
        if byte & 0x80 == 0 {
            break;
        }
    }
    table
}

/// Below [`CLASSES`]; the same whatever the points.
#[inline]
pub(super) fn class_of(entry: &[u8]) -> u64 {
    let mix = |sum: u64, word: u64| (sum.rotate_left(29) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let (words, rest) = entry[1..].as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let mixed = words.iter().fold(0, |sum, word| mix(sum, u64::from_le_bytes(*word)));
    ((mix(mixed, u64::from_le_bytes(last)) >> 32) * u64::from(CLASSES)) >> 32
}

/// Points of an entry with this first byte.
#[inline]
pub(super) fn points(first: u8) -> u8 {
    first / POINT
}

/// One point more for an entry that has fewer than [`POINTS_MAX`].
pub(super) fn add_point(first: &mut u8) {
    *first = first.checked_add(POINT).unwrap_or(*first);
}

/// One point less, if it has any.
pub(super) fn take_point(first: &mut u8) {
    *first = first.checked_sub(POINT).unwrap_or(*first);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use springbloom_filter::KeyDigest;

    use super::*;

    fn entry(table: u32, key: &[u8]) -> Option<Entry> {
        Entry::new(&AbsentKey::new(table, key, KeyDigest::of(key)))
    }

    #[test]
    fn a_key_takes_its_own_bytes_and_a_few() {
        let bytes = |table, key: &[u8]| entry(table, key).map(|entry| entry.bytes().len());
        for key in ["", "7", "12345678901234567890", "user", "ff00", "\u{0}"] {
            assert_eq!(bytes(7, key.as_bytes()), Some(2 + key.len()), "{key}");
        }
        assert_eq!([127, 128, 16383, 16384].map(|table| bytes(table, b"user")), [6, 7, 7, 8].map(Some));
        assert_eq!(bytes(u32::MAX, b"user"), Some(10));
        assert_eq!([28, 29, 30].map(|length| bytes(1, &vec![b'7'; length])), [30, 32, 33].map(Some));
    }

    #[test]
    fn what_is_too_long_is_refused() {
        for byte in [b'x', b'7'] {
            let longest = [byte; KEY_BYTES_MAX + 1];
            assert!(entry(u32::MAX, &longest[1..]).is_some_and(|entry| entry.bytes().len() <= BYTES_MAX));
            assert!(entry(1, &longest).is_none());
        }
    }

    /// Few enough that pairs are often equal.
    fn same_and_other_keys() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            prop::collection::vec(0..2u8, 0..4),
            prop::collection::vec(b'0'..b'2', 0..4),
            (27..31usize).prop_map(|length| vec![b'x'; length]),
        ]
    }

    proptest! {
        /// Entries are equal when tables and keys are, and only then, whatever their points.
        #[test]
        fn one_to_one(
            tables in [prop_oneof![0..3u32, any::<u32>()], prop_oneof![0..3u32, any::<u32>()]],
            keys in [same_and_other_keys(), same_and_other_keys()],
            points in 0..20u8,
        ) {
            let [a, b] = [0, 1].map(|n| entry(tables[n], &keys[n]).unwrap());
            let mut stored = b.bytes().to_vec();
            (0..points).for_each(|_| add_point(&mut stored[0]));
            prop_assert_eq!(super::points(stored[0]), points.min(POINTS_MAX));
            prop_assert_eq!(a.same_key(&stored), (tables[0], &keys[0]) == (tables[1], &keys[1]));
            prop_assert_eq!((table_of(&stored), bytes_of(&stored)), (tables[1], stored.len()));
            prop_assert_eq!(class_of(&stored), b.class());
            (0..20).for_each(|_| take_point(&mut stored[0]));
            prop_assert_eq!(&stored, b.bytes());
        }
    }
}
