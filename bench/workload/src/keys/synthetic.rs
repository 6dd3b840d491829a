//! Keys made of numbers: `user` and 20 decimal digits, 24 bytes. No two keys are equal, and no table is needed.
//!
//! Scattered keys are unordered by record (YCSB's "hashed" insert order): the digits are a bijection of the record number, with present
//! records below 2^63 and absent ones above, so that both are spread over the same range. Keys in order (YCSB's "ordered") have room for
//! 2^28 - 1 absent keys behind each present one.

use crate::permutation::mix64;

pub(super) const KEY_BYTES: usize = 24;
const PREFIX: &[u8; 4] = b"user";
const ABSENT: u64 = 1 << 63;
/// Absent keys there are.
pub(crate) const ABSENT_NUMBERS: u64 = ABSENT;
/// Places from one key in order to the next. It leaves numbers for 2^36 records.
const GAP: u64 = 1 << 28;
/// Absent keys behind each key in order.
pub(crate) const ABSENT_IN_GAP: u64 = GAP - 1;
pub(crate) const ORDERED_RECORDS_MAX: u64 = u64::MAX / GAP;

#[inline]
pub(super) fn present(record: u64, key: &mut Vec<u8>) {
    debug_assert!(record < ABSENT, "record {record} is out of the key space");
    write(scattered(record), key);
}

#[inline]
pub(super) fn absent(record: u64, key: &mut Vec<u8>) {
    debug_assert!(record < ABSENT, "record {record} is out of the key space");
    write(scattered(record | ABSENT), key);
}

#[inline]
pub(super) fn present_in_order(record: u64, key: &mut Vec<u8>) {
    debug_assert!(record <= ORDERED_RECORDS_MAX, "record {record} is out of the key space");
    write(record * GAP, key);
}

/// The absent key `number / records` behind record `number % records`.
#[inline]
pub(super) fn absent_in_order(number: u64, records: u64, key: &mut Vec<u8>) {
    write(number % records * GAP + 1 + number / records % ABSENT_IN_GAP, key);
}

/// Record 0 would map to 0, the smallest key. The offset makes an ordinary record the smallest.
#[inline]
fn scattered(number: u64) -> u64 {
    mix64(number ^ 0x5851_F42D_4C95_7F2D)
}

#[inline]
fn write(number: u64, key: &mut Vec<u8>) {
    let mut digits = [b'0'; KEY_BYTES];
    digits[..PREFIX.len()].copy_from_slice(PREFIX);
    let mut rest = number;
    for digit in digits[PREFIX.len()..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    key.clear();
    key.extend_from_slice(&digits);
}

#[cfg(test)]
mod tests {
    use super::*;
    use springbloom_testkit::chi_square;

    fn key(make: fn(u64, &mut Vec<u8>), record: u64) -> Vec<u8> {
        let mut key = Vec::new();
        make(record, &mut key);
        key
    }

    #[test]
    fn keys_have_the_documented_form() {
        for record in [0, 1, 4_999_999, ABSENT - 1] {
            let key = key(present, record);
            assert_eq!(key.len(), KEY_BYTES);
            assert!(key.starts_with(PREFIX) && key[4..].iter().all(u8::is_ascii_digit));
            assert_eq!(
                String::from_utf8_lossy(&key[4..]).parse::<u128>().ok(),
                Some(u128::from(mix64(record ^ 0x5851_F42D_4C95_7F2D)))
            );
        }
    }

    #[test]
    fn keys_in_order_are_in_order_and_absent_ones_lie_behind_their_records() {
        let records = 1_000;
        let absent = |number| {
            let mut key = Vec::new();
            absent_in_order(number, records, &mut key);
            key
        };
        for record in 0..records {
            let (this, next) = (key(present_in_order, record), key(present_in_order, record + 1));
            assert_eq!(this.len(), KEY_BYTES);
            let behind = [0, 1, ABSENT_IN_GAP - 1].map(|lap| absent(lap * records + record));
            assert!(
                this < behind[0] && behind.is_sorted_by(|a, b| a < b) && behind[2] < next,
                "record {record}"
            );
        }
        assert_eq!(key(present_in_order, ORDERED_RECORDS_MAX).len(), KEY_BYTES);
    }

    #[test]
    fn absent_keys_are_absent_and_interleaved() {
        let records = 20_000;
        let mut present_keys: Vec<_> = (0..records).map(|record| key(present, record)).collect();
        present_keys.sort();
        present_keys.dedup();
        assert_eq!(present_keys.len() as u64, records);
        let mut counts = [0u64; 50];
        let mut outside = 0;
        for record in 0..records {
            match present_keys.binary_search(&key(absent, record)) {
                Ok(_) => panic!("absent key {record} is present"),
                Err(0) => outside += 1,
                Err(at) if at as u64 == records => outside += 1,
                Err(at) => counts[at * counts.len() / records as usize] += 1,
            }
        }
        // A uniform key falls outside the range of 20,000 others once in 10,000 times.
        assert!(outside < 30, "{outside}");
        chi_square::assert_fits(&counts, &[1.0 / 50.0; 50], "gaps that absent keys fall into");
    }
}
