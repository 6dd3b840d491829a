//! The file of pre-filters, written by a clean close, so that the next opening need not read every bucket again. Layout:
//! `docs/index.md`.
//!
//! Invariant: a stored filter belongs to the bucket named by the manifest of the same close and has no false negatives. If the file is
//! unusable, lookups build the filters again.

use crate::block_file::{BlockKey, BlockWriter, ITEM_BYTES_MAX, read_blocks};
use crate::manifest::Manifest;
use crate::partitions::Partitions;
use crate::prefilter::{Heads, Prefilter, SHAPES_BYTES};
use springbloom_page_device::{FlashError, Storage, Watch};

pub(crate) const NAME: &str = "filters";
/// Shapes of a partition without filters.
const NONE: [u8; SHAPES_BYTES] = [0; SHAPES_BYTES];

/// Writes the pre-filters of `table`. Durable on return.
pub(crate) fn write(
    storage: &dyn Storage,
    closing: BlockKey,
    table: &Partitions,
    watch: &mut Watch<'_>,
) -> Result<(), FlashError> {
    let mut blocks = BlockWriter::create(storage, NAME, closing)?;
    let mut item = Vec::new();
    for (heads, words) in table.ordered().map(|partition| table.filter_of(partition)) {
        item.clear();
        item.extend(heads.map_or(NONE, |heads| heads.encode()));
        item.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        blocks.push(if item.len() <= ITEM_BYTES_MAX { &item } else { &NONE })?;
        watch.advance(item.len() as u64)?;
    }
    blocks.finish()
}

/// Restores the pre-filters of `table`, whose partitions are those of `manifest`. Skips filters with other numbers of units than `units`.
pub(crate) fn read(
    storage: &dyn Storage,
    manifest: &Manifest,
    units: [u8; 2],
    table: &mut Partitions,
    watch: &mut Watch<'_>,
) -> Result<(), FlashError> {
    let Some(closing) = manifest.closing() else { return Ok(()) };
    let mut numbers = 0..table.len() as u32;
    let is_whole = read_blocks(storage, NAME, closing, watch, |count, mut bytes| {
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
    })?;
    if !is_whole {
        log::debug!("{}: not all pre-filters were kept", storage.describe(NAME));
    }
    Ok(())
}
