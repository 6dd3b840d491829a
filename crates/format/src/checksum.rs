//! Checksums: the low 32 bits of XXH3-64, with a seed that identifies the part.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::FormatError;

/// Bytes of a stored checksum.
pub(crate) const CHECKSUM_BYTES: usize = 4;

/// Odd, so that no two identities have the same product: the golden ratio in 64 bits.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The part that a checksum covers. Each part has its own seed, so intact bytes in the wrong place fail the check.
#[derive(Clone, Copy)]
pub(crate) enum Covers {
    Header,
    Directory,
    /// A unit of the block with that identity.
    Unit {
        identity: u32,
        segment: u32,
        unit: u8,
    },
    HotnessHeader,
    HotnessBody,
}

pub(crate) fn checksum(covers: Covers, bytes: &[u8]) -> u32 {
    let seed = match covers {
        Covers::Header => 1 << 56,
        Covers::Directory => 2 << 56,
        Covers::Unit { identity, segment, unit } => {
            let place = 3 << 56 | u64::from(segment) << 8 | u64::from(unit);
            place ^ u64::from(identity).wrapping_mul(SPREAD)
        }
        Covers::HotnessHeader => 4 << 56,
        Covers::HotnessBody => 5 << 56,
    };
    xxh3_64_with_seed(bytes, seed) as u32
}

/// Returns an error unless `stored` is the checksum of these bytes.
pub(crate) fn verify(
    covers: Covers,
    part: &'static str,
    bytes: &[u8],
    stored: u32,
) -> Result<(), FormatError> {
    match checksum(covers, bytes) {
        sum if sum == stored => Ok(()),
        got => Err(FormatError::Checksum { part, got, expected: stored }),
    }
}
