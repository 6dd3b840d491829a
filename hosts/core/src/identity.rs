//! Identities of a table that stay when its file is moved or copied.

use xxhash_rust::xxh3::Xxh3;

/// Identity of a table that survives restarts and moves of its file. `head` is header and directory of its block.
pub fn stored_id(session: &[u8], orig_file_number: u64, head: &[u8]) -> u64 {
    let mut hash = origin(session, orig_file_number);
    hash.update(head);
    hash.digest128() as u64
}

/// Identity of a table in the checksums of its units, so that units of another table do not pass for them.
pub(crate) fn block_identity(session: &[u8], orig_file_number: u64) -> u32 {
    origin(session, orig_file_number).digest() as u32
}

/// Hash of a table's origin, as its properties tell it.
fn origin(session: &[u8], orig_file_number: u64) -> Xxh3 {
    let mut hash = Xxh3::new();
    hash.update(&(session.len() as u64).to_le_bytes());
    hash.update(session);
    hash.update(&orig_file_number.to_le_bytes());
    hash
}
