//! The pre-filters, written when an index is closed, so that the next opening has them and need not read every bucket again. Layout:
//! `docs/flash-index.md`.
//!
//! Invariant: a filter is kept for the bucket that the closing's manifest names, and says of its entries that they may match; where the file
//! cannot be used, lookups make the filters anew.

use crate::closing::{BlockWriter, Closing, ITEM_BYTES_MAX, read_blocks};
use crate::manifest::Manifest;
use crate::partitions::Partitions;
use crate::prefilter::{Heads, Prefilter, SHAPES_BYTES};
use springbloom_page_device::FlashError;
use springbloom_page_device::Storage;

const NAME: &str = "filters";
/// In the place of the shapes of a partition that has no filters.
const NONE: [u8; SHAPES_BYTES] = [0; SHAPES_BYTES];

/// Writes the pre-filters of `table`. Durable on return.
pub(crate) fn write(storage: &dyn Storage, closing: Closing, table: &Partitions) -> Result<(), FlashError> {
    let mut blocks = BlockWriter::create(storage, NAME, closing)?;
    let mut item = Vec::new();
    for (heads, words) in table.ordered().map(|partition| table.filter_of(partition)) {
        item.clear();
        item.extend(heads.map_or(NONE, |heads| heads.encode()));
        item.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        blocks.push(if item.len() <= ITEM_BYTES_MAX { &item } else { &NONE })?;
    }
    blocks.finish()
}

/// Gives the partitions of `table`, which are those of `manifest`, the filters that the last closing kept, those with `units` for the halves.
pub(crate) fn read(storage: &dyn Storage, manifest: &Manifest, units: [u8; 2], table: &mut Partitions) {
    let Some(closing) = manifest.closing() else { return };
    let mut numbers = 0..table.len() as u32;
    let read = read_blocks(storage, NAME, closing, |count, mut bytes| {
        for _ in 0..count {
            let (number, (shapes, rest)) = (numbers.next()?, bytes.split_first_chunk()?);
            bytes = rest;
            if *shapes == NONE {
                continue;
            }
            let heads = Heads::decode(shapes)?;
            let (words, rest) = bytes.split_at_checked(heads.words().checked_mul(8)?)?;
            bytes = rest;
            if heads.units() == units {
                let words = words.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
                table.restore_filter(number, Prefilter { heads, words });
            }
        }
        Some(())
    });
    if read.is_none() {
        log::debug!("{}: not all pre-filters were kept", storage.describe(NAME));
    }
}
