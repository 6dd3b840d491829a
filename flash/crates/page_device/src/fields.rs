//! Fields of stored bytes. Integers are little-endian. All panic if there are fewer bytes.

/// `N` bytes at `at`.
#[inline]
pub fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

/// The integer of 2 bytes at `at`.
#[inline]
pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(field(bytes, at))
}

/// The integer of 4 bytes at `at`.
#[inline]
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(field(bytes, at))
}

/// The integer of 6 bytes at `at`.
#[inline]
pub fn u48_at(bytes: &[u8], at: usize) -> u64 {
    let mut out = [0; 8];
    out[..6].copy_from_slice(&bytes[at..at + 6]);
    u64::from_le_bytes(out)
}

/// The integer of 8 bytes at `at`.
#[inline]
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(field(bytes, at))
}
