//! Memory for what a call allocates in small pieces. An allocation that fails ends the process, so a call asks for more than these take
//! before it begins: it raises where there is less.

use std::hint::black_box;

use springbloom_flash_filter::FlashError;

/// More than a call takes whose answer is small. What may be large asks for itself.
const SPARE_BYTES: usize = 8 << 20;

/// An error if the system would not give that much.
pub(crate) fn require_spare() -> Result<(), FlashError> {
    let mut spare: Vec<u8> = Vec::new();
    let got = spare.try_reserve_exact(SPARE_BYTES);
    // Freed at once, for the call. Unused, it would not be asked for at all.
    black_box(&spare);
    got.map_err(|_| FlashError::NoMemory {
        wanted_bytes: SPARE_BYTES as u64,
        part: "a call",
        advice: "free some, or ask for less at a time",
    })
}
