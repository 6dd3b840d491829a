//! The waiting entries, written when an index is closed, so that the next opening need not replay the log for them. Layout:
//! `docs/flash-index.md`.
//!
//! Invariant: the file says nothing that the log does not say; where it cannot be used, the log is replayed.

use springbloom_filter::KeyDigest;

use crate::closing::{BlockWriter, Closing, read_blocks};
use crate::manifest::Manifest;
use crate::partitions::Partitions;
use springbloom_page_device::FlashError;
use springbloom_page_device::Storage;
use springbloom_page_device::field;

const NAME: &str = "waiting";
const ENTRY_BYTES: usize = 14;

/// Writes the waiting entries of `table`. Durable on return.
pub(crate) fn write(storage: &dyn Storage, closing: Closing, table: &Partitions) -> Result<(), FlashError> {
    let mut blocks = BlockWriter::create(storage, NAME, closing)?;
    for (hi, page) in table.waiting() {
        let mut entry = [0; ENTRY_BYTES];
        entry[..8].copy_from_slice(&hi.to_le_bytes());
        entry[8..].copy_from_slice(&page.to_le_bytes()[..6]);
        blocks.push(&entry)?;
    }
    blocks.finish()
}

/// Adds the entries that waited when `manifest` or the one before it was written by a closing; whether all of them were there. If not, some may
/// have been added.
pub(crate) fn read(storage: &dyn Storage, manifest: &Manifest, table: &mut Partitions) -> bool {
    let Some(closing) = manifest.closing() else { return false };
    let read = read_blocks(storage, NAME, closing, |count, bytes| {
        for entry in bytes.get(..count * ENTRY_BYTES)?.chunks_exact(ENTRY_BYTES) {
            let hi = u64::from_le_bytes(field(entry, 0));
            let [a, b, c, d, e, f] = field(entry, 8);
            let page = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
            if page >= manifest.counted_page {
                return None;
            }
            table.push(KeyDigest { lo: 0, hi }, page);
        }
        Some(())
    });
    read.is_some()
}
