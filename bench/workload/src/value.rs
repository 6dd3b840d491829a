//! Values derived from record and version, so that any answer of a store can be verified without storing it.
//!
//! Bytes 0..8 are the record, 8..12 the version (little-endian). The rest is a pseudo-random stream seeded by both, which is incompressible
//! and different for each pair.

use crate::permutation::mix64;

/// Shortest value that can carry its record and version.
pub const MIN_VALUE_BYTES: usize = 12;

/// Writes the value of a `version` of a `record` to `value`, replacing its contents. The value has `value_bytes` bytes.
pub fn write(record: u64, version: u32, value_bytes: usize, value: &mut Vec<u8>) {
    debug_assert!(value_bytes >= MIN_VALUE_BYTES, "{value_bytes} bytes cannot carry a record and a version");
    value.clear();
    value.extend_from_slice(&record.to_le_bytes());
    value.extend_from_slice(&version.to_le_bytes());
    let mut stream = Stream::new(record, version);
    while value.len() < value_bytes {
        value.extend_from_slice(&stream.next_word());
    }
    value.truncate(value_bytes);
}

/// Record and version in a value. `None` if it is too short.
pub fn origin(value: &[u8]) -> Option<(u64, u32)> {
    let (record, rest) = value.split_first_chunk::<8>()?;
    let (version, _) = rest.split_first_chunk::<4>()?;
    Some((u64::from_le_bytes(*record), u32::from_le_bytes(*version)))
}

/// Whether `value` equals the value of its own [`origin`] with `value_bytes` bytes. No allocation.
pub fn is_intact(value: &[u8], value_bytes: usize) -> bool {
    let Some((record, version)) = origin(value) else { return false };
    if value.len() != value_bytes {
        return false;
    }
    let mut stream = Stream::new(record, version);
    // Collects differences without branching, so a right value costs one pass at the speed of the generator.
    let mut words = value[MIN_VALUE_BYTES..].chunks_exact(8);
    let mut differences = 0;
    for word in &mut words {
        let word: [u8; 8] = word.try_into().unwrap_or_default();
        differences |= u64::from_le_bytes(word) ^ u64::from_le_bytes(stream.next_word());
    }
    let rest = words.remainder();
    differences == 0 && stream.next_word()[..rest.len()] == *rest
}

struct Stream {
    state: u64,
}

impl Stream {
    fn new(record: u64, version: u32) -> Self {
        Stream { state: mix64(record.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (u64::from(version) << 32)) }
    }

    #[inline]
    fn next_word(&mut self) -> [u8; 8] {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix64(self.state).to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_carry_their_origin_and_are_verified_to_the_last_byte() {
        let mut value = Vec::new();
        for value_bytes in [12, 13, 19, 20, 100, 1000] {
            write(77, 3, value_bytes, &mut value);
            assert_eq!(value.len(), value_bytes);
            assert_eq!(origin(&value), Some((77, 3)));
            assert!(is_intact(&value, value_bytes));
            assert!(!is_intact(&value, value_bytes + 1));
            for at in [0, 8, value_bytes - 1] {
                let mut damaged = value.clone();
                damaged[at] ^= 0x40;
                // A flip in the origin of a value without a stream is another valid value of another record.
                assert!(!is_intact(&damaged, value_bytes) || value_bytes == MIN_VALUE_BYTES, "byte {at}");
            }
        }
    }

    #[test]
    fn short_bytes_are_no_value() {
        assert_eq!(origin(&[0; 11]), None);
        assert!(!is_intact(&[], 0));
    }

    #[test]
    fn records_and_versions_differ() {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for (one, other) in [((1, 0), (2, 0)), ((1, 0), (1, 1)), ((1, 2), (2, 1))] {
            write(one.0, one.1, 100, &mut a);
            write(other.0, other.1, 100, &mut b);
            assert_ne!(a[MIN_VALUE_BYTES..], b[MIN_VALUE_BYTES..]);
        }
    }
}
