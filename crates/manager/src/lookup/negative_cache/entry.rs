//! An absence in few bytes, so that a bucket holds many.
//!
//! From the first byte: points (3 bits) and the entry's bytes (5), which stand in the next byte if they are too many; the table's number
//! and how the key is written, seven bits to a byte; the key. Decimal digits are written as one number, lower-case hexadecimal ones two
//! to a byte. The form is one-to-one, so entries are equal, points aside, when tables and keys are.
//! Without it, keys of 20 digits waste 8% more reads in Setting S1 (decision 0016).

use super::AbsentKey;

/// Most bytes that a key takes here.
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

/// Bytes of the largest table's number and a [`Written`].
const TABLE_BYTES_MAX: usize = (u32::BITS as usize + 2).div_ceil(7);

/// How a key is written.
#[derive(Clone, Copy)]
enum Written {
    Plainly,
    /// An even number of digits.
    EvenHex,
    /// An odd number of digits, and four zero bits.
    OddHex,
    /// A decimal number, the low byte first, with a digit 1 before the key's digits.
    Decimal,
}

/// Most decimal digits that are written as a number.
const DECIMAL_MAX: usize = 38;

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
        let key = absence.key;
        let decimal = decimal(key);
        let is_hex =
            decimal.is_none() && !key.is_empty() && key.iter().all(|&byte| hex_digit(byte).is_some());
        let (written, key_bytes) = match decimal {
            Some(number) => (Written::Decimal, (u128::BITS - number.leading_zeros()).div_ceil(8) as usize),
            None if is_hex && key.len().is_multiple_of(2) => (Written::EvenHex, key.len() / 2),
            None if is_hex => (Written::OddHex, key.len().div_ceil(2)),
            None => (Written::Plainly, key.len()),
        };
        if key_bytes > KEY_BYTES_MAX {
            return None;
        }
        let table = u64::from(absence.table) << 2 | written as u64;
        let table_bytes = (u64::BITS - table.leading_zeros()).div_ceil(7).max(1) as usize;
        let short = 1 + table_bytes + key_bytes;
        let head: &[u8] = if short < LONG { &[short as u8] } else { &[LONG as u8, short as u8 + 1] };
        let used = head.len() + table_bytes + key_bytes;
        let mut entry = Self { bytes: [0; BYTES_MAX], used };
        entry.bytes[..head.len()].copy_from_slice(head);
        let (table_place, key_place) = entry.bytes[head.len()..].split_at_mut(table_bytes);
        for (at, byte) in table_place.iter_mut().enumerate() {
            let more = if at + 1 < table_bytes { 0x80 } else { 0 };
            *byte = (table >> (7 * at)) as u8 & 0x7F | more;
        }
        match decimal {
            Some(number) => key_place[..key_bytes].copy_from_slice(&number.to_le_bytes()[..key_bytes]),
            None if is_hex => {
                for (pair, byte) in key.chunks(2).zip(key_place) {
                    let nibble = |at: usize| pair.get(at).and_then(|&byte| hex_digit(byte)).unwrap_or(0);
                    *byte = nibble(0) << 4 | nibble(1);
                }
            }
            None => key_place[..key_bytes].copy_from_slice(key),
        }
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

fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

/// The number whose decimal digits are a 1 and the key; `None` for other keys, too long ones and the empty one.
fn decimal(key: &[u8]) -> Option<u128> {
    const POWERS: [u128; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];
    if key.is_empty() || key.len() > DECIMAL_MAX {
        return None;
    }
    let (words, rest) = key.as_chunks::<8>();
    let mut number = 1;
    for &word in words {
        number = number * 100_000_000 + u128::from(eight_digits(word)?);
    }
    let mut last = [b'0'; 8];
    last[8 - rest.len()..].copy_from_slice(rest);
    Some(number * POWERS[rest.len()] + u128::from(eight_digits(last)?))
}

/// The number of eight decimal digits, by three sums of pairs; `None` if they are not.
#[inline]
fn eight_digits(digits: [u8; 8]) -> Option<u64> {
    const HIGH: u64 = 0xF0F0_F0F0_F0F0_F0F0;
    const ZEROS: u64 = 0x3030_3030_3030_3030;
    let word = u64::from_le_bytes(digits);
    let above_nine = word.wrapping_add(0x0606_0606_0606_0606);
    if word & HIGH != ZEROS || above_nine & HIGH != ZEROS {
        return None;
    }
    let ones = word - ZEROS;
    let pairs = (ones * 10 + (ones >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    Some((fours * 10_000 + (fours >> 32)) & 0xFFFF_FFFF)
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
        table |= u64::from(byte & 0x7F) << (7 * at);
        if byte & 0x80 == 0 {
            break;
        }
    }
    (table >> 2) as u32
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
    fn digits_take_less_than_a_byte_each() {
        let bytes_of_keys = [
            ("", 0),
            ("7", 1),
            ("17", 1),
            ("99", 1),
            ("100", 2),
            ("9999", 2),
            ("0af", 2),
            ("0ag", 3),
            ("0A", 2),
            ("ff00", 2),
            ("123456789012345678", 8),
            ("99999999999999999999999999999999999999", 16),
            ("999999999999999999999999999999999999990", 20),
        ];
        for (key, bytes) in bytes_of_keys {
            assert_eq!(entry(7, key.as_bytes()).map(|entry| entry.bytes().len()), Some(2 + bytes), "{key}");
        }
        let bytes = |table, key: &str| entry(table, key.as_bytes()).map(|entry| entry.bytes().len());
        assert_eq!([31, 32, 4095, 4096].map(|table| bytes(table, "user")), [6, 7, 7, 8].map(Some));
        assert_eq!(bytes(u32::MAX, "user"), Some(10));
        assert_eq!([28, 29, 30].map(|x| bytes(1, &"x".repeat(x))), [30, 32, 33].map(Some));
    }

    #[test]
    fn eight_digits_are_read_at_once() {
        assert_eq!(eight_digits(*b"01234567"), Some(1_234_567));
        assert_eq!(eight_digits(*b"99999999"), Some(99_999_999));
        for at in 0..8 {
            for byte in (0..=u8::MAX).filter(|byte| !byte.is_ascii_digit()) {
                let mut digits = *b"90909090";
                digits[at] = byte;
                assert_eq!(eight_digits(digits), None, "{byte} at {at}");
            }
        }
    }

    #[test]
    fn what_is_too_long_is_refused() {
        for (byte, bytes_max) in [(b'x', KEY_BYTES_MAX), (b'7', 2 * KEY_BYTES_MAX)] {
            let longest = vec![byte; bytes_max + 1];
            assert!(entry(u32::MAX, &longest[1..]).is_some_and(|entry| entry.bytes().len() <= BYTES_MAX));
            assert!(entry(1, &longest).is_none(), "{bytes_max} bytes and one");
        }
    }

    /// Few enough that pairs are often equal, and of each way to write them.
    fn same_and_other_keys() -> impl Strategy<Value = String> {
        "[0-1]{0,3}|[0-3a]{0,5}|[0-9a-fA-Gx]{0,9}|0{7,9}|[0-9]{36,40}|x{27,31}"
    }

    proptest! {
        /// Entries are equal when tables and keys are, and only then, whatever their points.
        #[test]
        fn one_to_one(
            tables in [prop_oneof![0..3u32, any::<u32>()], prop_oneof![0..3u32, any::<u32>()]],
            keys in [same_and_other_keys(), same_and_other_keys()],
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
