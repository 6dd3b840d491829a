//! An absence in as few bytes as its key allows, so that a set holds many.
//!
//! From the first byte: points (4 bits), bytes of the table's number less one (2), whether the key is packed (1); the key's length; the
//! table's number; the key. A key made of digits, or of lower-case hexadecimal ones, is packed two to a byte. The form is one-to-one,
//! so entries are equal, points aside, when tables and keys are.

use super::Absence;

/// Most bytes that a key takes here, packed if it can be.
pub(super) const KEY_BYTES_MAX: usize = 112;
/// Longest entry.
pub(super) const BYTES_MAX: usize = HEAD_BYTES + size_of::<u32>() + KEY_BYTES_MAX;
/// What tells how long an entry is.
pub(super) const HEAD_BYTES: usize = 2;
const _: () = assert!(2 * KEY_BYTES_MAX <= u8::MAX as usize);

/// Most points. An entry that has them is only read; it goes some bursts of new entries after it was last of use.
pub(super) const POINTS_MAX: u8 = 15;
const POINT: u8 = 1 << 4;
const TABLE_SHIFT: u32 = 2;
const IS_PACKED: u8 = 1;

/// Kinds of entries that a set can say it has none of.
pub(super) const CLASSES: u32 = 24;

/// An entry that is looked for or put in, without points.
pub(super) struct Entry {
    bytes: [u8; BYTES_MAX],
    used: usize,
}

impl Entry {
    /// `None` if the key is too long.
    pub(super) fn new(absence: &Absence<'_>) -> Option<Self> {
        let key = absence.key;
        if key.len() > 2 * KEY_BYTES_MAX {
            return None;
        }
        let mut entry = Self { bytes: [0; BYTES_MAX], used: 0 };
        let table_bytes = (u32::BITS - absence.table.leading_zeros()).div_ceil(8).max(1) as usize;
        let key_at = HEAD_BYTES + table_bytes;
        let is_packed = pack(key, &mut entry.bytes[key_at..]);
        if !is_packed {
            if key.len() > KEY_BYTES_MAX {
                return None;
            }
            entry.bytes[key_at..][..key.len()].copy_from_slice(key);
        }
        entry.bytes[0] = (table_bytes as u8 - 1) << TABLE_SHIFT | u8::from(is_packed);
        entry.bytes[1] = key.len() as u8;
        entry.bytes[HEAD_BYTES..key_at].copy_from_slice(&absence.table.to_le_bytes()[..table_bytes]);
        entry.used = bytes_of(&entry.bytes);
        Some(entry)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    pub(super) fn class(&self) -> u64 {
        class_of(self.bytes())
    }

    /// Whether that is this entry, with whatever points.
    #[inline]
    pub(super) fn is(&self, other: &[u8]) -> bool {
        other[0] % POINT == self.bytes[0] && other[1..] == self.bytes()[1..]
    }
}

/// The key's digits two to a byte; `false`, and rubbish in `packed`, if it has other bytes than digits.
fn pack(key: &[u8], packed: &mut [u8]) -> bool {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    key.chunks(2).zip(packed).all(|(pair, place)| {
        let (Some(high), Some(low)) = (digit(pair[0]), digit(*pair.get(1).unwrap_or(&b'0'))) else {
            return false;
        };
        *place = high << 4 | low;
        true
    })
}

fn table_bytes(first: u8) -> usize {
    usize::from((first % POINT) >> TABLE_SHIFT) + 1
}

/// Bytes of the entry that begins so.
#[inline]
pub(super) fn bytes_of(entry: &[u8]) -> usize {
    let length = usize::from(entry[1]);
    let key_bytes = if entry[0] & IS_PACKED != 0 { length.div_ceil(2) } else { length };
    HEAD_BYTES + table_bytes(entry[0]) + key_bytes
}

/// Number of the table that the entry is about.
pub(super) fn table_of(entry: &[u8]) -> u32 {
    let mut table = [0; size_of::<u32>()];
    let bytes = table_bytes(entry[0]);
    table[..bytes].copy_from_slice(&entry[HEAD_BYTES..][..bytes]);
    u32::from_le_bytes(table)
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
        Entry::new(&Absence::new(table, key, KeyDigest::of(key)))
    }

    #[test]
    fn digits_take_half_a_byte_each() {
        for (key, bytes) in [("17", 1), ("170", 2), ("0af", 2), ("0ag", 3), ("0A", 2), ("", 0)] {
            assert_eq!(entry(7, key.as_bytes()).map(|entry| entry.bytes().len()), Some(3 + bytes), "{key}");
        }
        assert_eq!(entry(0xFFFF, b"user").map(|entry| entry.bytes().len()), Some(8));
        assert_eq!(entry(u32::MAX, b"user").map(|entry| entry.bytes().len()), Some(10));
    }

    #[test]
    fn what_is_too_long_is_refused() {
        for (byte, bytes_max) in [(b'x', KEY_BYTES_MAX), (b'7', 2 * KEY_BYTES_MAX)] {
            let longest = vec![byte; bytes_max + 1];
            assert!(entry(1, &longest[1..]).is_some_and(|entry| entry.bytes().len() <= BYTES_MAX));
            assert!(entry(1, &longest).is_none(), "{bytes_max} bytes and one");
        }
    }

    proptest! {
        /// Entries are equal when tables and keys are, and only then, whatever their points.
        #[test]
        fn one_to_one(
            tables in [prop_oneof![0..3u32, any::<u32>()], prop_oneof![0..3u32, any::<u32>()]],
            keys in ["[0-3a]{0,5}|[0-9a-fA-Gx]{0,9}", "[0-3a]{0,5}|[0-9a-fA-Gx]{0,9}"],
            points in 0..20u8,
        ) {
            let [a, b] = [0, 1].map(|n| entry(tables[n], keys[n].as_bytes()).unwrap());
            let mut stored = b.bytes().to_vec();
            (0..points).for_each(|_| add_point(&mut stored[0]));
            prop_assert_eq!(super::points(stored[0]), points.min(POINTS_MAX));
            prop_assert_eq!(a.is(&stored), (tables[0], &keys[0]) == (tables[1], &keys[1]));
            prop_assert_eq!((table_of(&stored), bytes_of(&stored)), (tables[1], stored.len()));
            prop_assert_eq!(class_of(&stored), b.class());
            (0..20).for_each(|_| take_point(&mut stored[0]));
            prop_assert_eq!(&stored, b.bytes());
        }
    }
}
