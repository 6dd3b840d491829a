//! Any bytes as a hotness file, also behind right checksums: a value that writes as it was read, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use springbloom_format::{HOTNESS_HEADER_BYTES, HOTNESS_MAGIC, StoredHotness};
use xxhash_rust::xxh3::xxh3_64_with_seed;

fuzz_target!(|bytes: &[u8]| {
    let _ = StoredHotness::decode(bytes);
    // Past the checksums, which a fuzzer does not find.
    if bytes.len() < HOTNESS_HEADER_BYTES + 4 {
        return;
    }
    let mut bytes = bytes.to_vec();
    let end = bytes.len() - 4;
    bytes[..8].copy_from_slice(&HOTNESS_MAGIC);
    bytes[8..12].copy_from_slice(&[2, 0, 0, 0]);
    bytes[16..24].copy_from_slice(&((end - HOTNESS_HEADER_BYTES) as u64).to_le_bytes());
    let header = xxh3_64_with_seed(&bytes[..66], 4 << 56) as u32;
    bytes[66..70].copy_from_slice(&header.to_le_bytes());
    let body = xxh3_64_with_seed(&bytes[HOTNESS_HEADER_BYTES..end], 5 << 56) as u32;
    bytes[end..].copy_from_slice(&body.to_le_bytes());
    if let Ok(file) = StoredHotness::decode(&bytes) {
        assert_eq!(file.encode(), bytes);
    }
});
