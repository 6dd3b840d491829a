//! Any bytes as a block header: a header within its own bounds, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use springbloom_format::{BlockHeader, HEADER_BYTES};
use xxhash_rust::xxh3::xxh3_64_with_seed;

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    // Once more behind a right checksum, which the fuzzer cannot guess.
    if bytes.len() >= HEADER_BYTES {
        let mut signed = bytes.to_vec();
        let sum = xxh3_64_with_seed(&signed[..36], 1 << 56) as u32;
        signed[36..40].copy_from_slice(&sum.to_le_bytes());
        check(&signed);
    }
});

fn check(bytes: &[u8]) {
    if let Ok(header) = BlockHeader::parse(bytes) {
        assert!(header.segment_count > 0 && header.unit_count > 0);
        assert!(header.head_bytes() <= header.block_bytes);
    }
}
