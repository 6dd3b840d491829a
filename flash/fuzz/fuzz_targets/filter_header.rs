//! Any bytes as the header of a flash filter, with and without a right checksum: a header that can be used and that comes back as
//! it was, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use springbloom_filter::KeyDigest;
use springbloom_flash_filter::{FilterHeader, HEADER_BYTES};

fuzz_target!(|bytes: &[u8]| {
    let _ = FilterHeader::decode("raw", bytes);
    let mut block = FILTER.to_vec();
    block.resize(HEADER_BYTES, 0);
    let len = bytes.len().min(HEADER_BYTES - 16);
    block[8..8 + len].copy_from_slice(&bytes[..len]);
    let mut unstamped = block[..HEADER_BYTES - 8].to_vec();
    unstamped[512..1024].fill(0);
    let sum = KeyDigest::of(&unstamped).lo;
    block[HEADER_BYTES - 8..].copy_from_slice(&sum.to_le_bytes());
    let Ok(header) = FilterHeader::decode("sealed", &block) else { return };
    let geometry = header.geometry;
    assert!(geometry.bits() >= 2048 / 512 * 4064 && geometry.probes >= 1 && header.capacity_keys > 0);
    assert_eq!(header.file_bytes(), 4096 + u64::from(geometry.page_bytes) * u64::from(geometry.page_count));
    assert_eq!(FilterHeader::decode("again", &header.encode()).expect("its own encoding"), header);
});

const FILTER: &[u8; 8] = b"SPBLFLSH";
