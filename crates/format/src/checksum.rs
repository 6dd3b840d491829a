//! Checksums: the low 32 bits of XXH3-64 under a seed that says what the bytes are.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bytes of a stored checksum.
pub(crate) const CHECKSUM_BYTES: usize = 4;

/// What a checksum covers. Each has its own seed, so that intact bytes in the wrong place are damage as well.
#[derive(Clone, Copy)]
pub(crate) enum Covers {
    Header,
    Directory,
    Unit { segment: u32, unit: u8 },
    HotnessHeader,
    HotnessBody,
}

pub(crate) fn checksum(covers: Covers, bytes: &[u8]) -> u32 {
    let seed = match covers {
        Covers::Header => 1 << 56,
        Covers::Directory => 2 << 56,
        Covers::Unit { segment, unit } => 3 << 56 | u64::from(segment) << 8 | u64::from(unit),
        Covers::HotnessHeader => 4 << 56,
        Covers::HotnessBody => 5 << 56,
    };
    xxh3_64_with_seed(bytes, seed) as u32
}
