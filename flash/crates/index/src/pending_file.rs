//! The file of pending entries, written by a clean close, so that the next opening need not replay the log. Layout: `docs/index.md`.
//!
//! Invariant: the file is redundant. If it is unusable, the log is replayed.

use springbloom_filter::KeyDigest;

use crate::block_file::{BlockKey, BlockWriter, read_blocks};
use crate::manifest::Manifest;
use crate::partitions::Partitions;
use springbloom_page_device::{FlashError, Storage, Watch, u48_at, u64_at};

pub(crate) const NAME: &str = "waiting";
pub(crate) const ENTRY_BYTES: usize = 14;
/// Entries written before the caller is told.
const TOLD_ENTRIES: u64 = 4096;

/// Writes the pending entries of `table`. Durable on return.
pub(crate) fn write(
    storage: &dyn Storage,
    closing: BlockKey,
    table: &Partitions,
    watch: &mut Watch<'_>,
) -> Result<(), FlashError> {
    let mut blocks = BlockWriter::create(storage, NAME, closing)?;
    for (n, (hi, page)) in (1u64..).zip(table.pending_digests()) {
        let mut entry = [0; ENTRY_BYTES];
        entry[..8].copy_from_slice(&hi.to_le_bytes());
        entry[8..].copy_from_slice(&page.to_le_bytes()[..6]);
        blocks.push(&entry)?;
        if n % TOLD_ENTRIES == 0 {
            watch.advance(TOLD_ENTRIES * ENTRY_BYTES as u64)?;
        }
    }
    blocks.finish()
}

/// Adds the entries that were pending at the close that wrote `manifest`. Returns false if the file is unusable. Some entries may have been
/// added then.
pub(crate) fn read(
    storage: &dyn Storage,
    manifest: &Manifest,
    table: &mut Partitions,
    watch: &mut Watch<'_>,
) -> Result<bool, FlashError> {
    let Some(closing) = manifest.closing() else { return Ok(false) };
    read_blocks(storage, NAME, closing, watch, |count, bytes| {
        for entry in bytes.get(..count * ENTRY_BYTES)?.chunks_exact(ENTRY_BYTES) {
            let hi = u64_at(entry, 0);
            let page = u48_at(entry, 8);
            if page >= manifest.counted_page {
                return None;
            }
            table.push(KeyDigest { lo: 0, hi }, page);
        }
        Some(())
    })
}
