//! Two ways to spread 64-bit values, both part of the file format: they never change.

/// SplitMix64's finaliser: every input bit reaches every output bit.
#[inline]
pub(crate) const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// SplitMix64's increment.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Maps a uniform 64-bit value to `0..bound` without a division (Lemire).
#[inline]
pub(crate) const fn scale(value: u64, bound: u64) -> u64 {
    ((value as u128 * bound as u128) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_vectors() {
        // The first outputs of SplitMix64 seeded with 0, as published with the generator.
        assert_eq!(mix(GOLDEN), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(GOLDEN.wrapping_mul(2)), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!((scale(0, 10), scale(u64::MAX, 10), scale(1 << 63, 10)), (0, 9, 5));
    }
}
