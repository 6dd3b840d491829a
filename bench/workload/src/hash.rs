//! Repeatable pseudo-random numbers: functions of a key's or unit's number.

/// A bijection in which every input bit affects every output bit (MurmurHash3's finaliser).
pub const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    x = (x ^ (x >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    x ^ (x >> 33)
}

/// Uniform in [0, 1).
pub fn unit_interval(x: u64) -> f64 {
    (mix(x) >> 11) as f64 / (1u64 << 53) as f64
}
