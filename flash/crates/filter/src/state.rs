//! The state of the chain of filters in the log, and the updates in its commits. Layout: `docs/filter-format.md`.
//!
//! The start block holds a copy of the header of every filter, to repair damaged ones. It also holds the number of bits set, so that
//! opening a filter of any size reads none of its pages.

use springbloom_page_device::{COMMIT_BYTES_MAX, FlashError, SET_KIND, START_BYTES_MAX, Wal, u32_at, u64_at};

use crate::geometry::Update;
use crate::header::{FilterHeader, HEADER_FIELDS_BYTES};

/// Upper bound of filters in a chain. Each has twice the capacity of the previous one, so the bound is never reached.
pub(crate) const LAYERS_MAX: usize = 48;
/// Bytes of an update: page (u32) and tag or bit position (u64).
pub(crate) const UPDATE_BYTES: usize = 12;
/// Upper bound of the updates of one commit.
pub(crate) const COMMIT_UPDATES_MAX: usize = 16_384;

const FIELDS_BYTES: usize = 32;
const LAYER_BYTES: usize = HEADER_FIELDS_BYTES + 8;
const _: () = assert!(FIELDS_BYTES + LAYERS_MAX * LAYER_BYTES <= START_BYTES_MAX);
const _: () = assert!(COMMIT_UPDATES_MAX * UPDATE_BYTES <= COMMIT_BYTES_MAX);

/// The chain, as described by the start block of a generation of the log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chain {
    /// Number of acknowledged insertions, repetitions included.
    pub(crate) insertions: u64,
    /// Pending updates in the snapshot of the generation.
    pub(crate) pending_updates: u64,
    /// Whether the files have stamps. Those of the version before do not.
    pub(crate) is_stamped: bool,
    /// Header and number of set bits of each filter. The last one takes updates.
    pub(crate) layers: Vec<(FilterHeader, u64)>,
}

impl Chain {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FIELDS_BYTES + self.layers.len() * LAYER_BYTES);
        bytes.extend(SET_KIND.0);
        bytes.extend(self.insertions.to_le_bytes());
        bytes.extend(self.pending_updates.to_le_bytes());
        bytes.extend((self.layers.len() as u64).to_le_bytes());
        for (header, ones) in &self.layers {
            bytes.extend(header.encode_fields());
            bytes.extend(ones.to_le_bytes());
        }
        bytes
    }

    /// Decodes [`Chain::encode`]. Total.
    pub(crate) fn decode(wal: &Wal) -> Result<Chain, FlashError> {
        let bytes = wal.contents();
        let damaged = |got: String| {
            let part = "the start of the write-ahead log";
            FlashError::damaged(wal.name(), part, got, "1 to 48 filters, numbered from 0")
        };
        let layers = bytes.get(FIELDS_BYTES..).unwrap_or_default();
        let count = layers.len() / LAYER_BYTES;
        if bytes.len() < FIELDS_BYTES
            || !(1..=LAYERS_MAX).contains(&count)
            || u64_at(bytes, 24) != count as u64
            || !layers.len().is_multiple_of(LAYER_BYTES)
        {
            return Err(damaged(format!("{} bytes about filters", layers.len())));
        }
        let mut chain = Chain {
            insertions: u64_at(bytes, 8),
            pending_updates: u64_at(bytes, 16),
            is_stamped: layers.chunks_exact(LAYER_BYTES).all(FilterHeader::is_stamped),
            layers: Vec::with_capacity(count),
        };
        for layer in layers.chunks_exact(LAYER_BYTES) {
            let header = FilterHeader::decode_fields(wal.name(), layer)?;
            chain.layers.push((header, u64_at(layer, HEADER_FIELDS_BYTES)));
        }
        let mut numbers: Vec<u32> = chain.layers.iter().map(|(header, _)| header.layer).collect();
        numbers.sort_unstable();
        if !numbers.iter().copied().eq(0..count as u32) {
            return Err(damaged(format!("filters {numbers:?}")));
        }
        Ok(chain)
    }
}

/// Appends updates to the payload of a commit.
pub(crate) fn encode_updates(updates: &[Update], payload: &mut Vec<u8>) {
    payload.reserve(updates.len() * UPDATE_BYTES);
    for update in updates {
        payload.extend(update.page.to_le_bytes());
        payload.extend(update.value.to_le_bytes());
    }
}

/// The updates of a commit.
pub(crate) fn updates_of(payload: &[u8]) -> impl Iterator<Item = Update> + '_ {
    payload
        .chunks_exact(UPDATE_BYTES)
        .map(|update| Update { page: u32_at(update, 0), value: u64_at(update, 4) })
}

/// Blocks of the log for `updates` in commits.
pub(crate) fn blocks_for(updates: u64) -> u64 {
    Wal::blocks_for(updates.saturating_mul(UPDATE_BYTES as u64), COMMIT_UPDATES_MAX * UPDATE_BYTES)
}

/// Updates in a snapshot that leaves half of the log's blocks free.
pub(crate) fn snapshot_updates_max(wal: &Wal) -> u64 {
    let commit_blocks = blocks_for(COMMIT_UPDATES_MAX as u64);
    let blocks = wal.snapshot_blocks_max();
    let last = (blocks % commit_blocks).saturating_sub(1) * (COMMIT_UPDATES_MAX as u64 / commit_blocks);
    blocks / commit_blocks * COMMIT_UPDATES_MAX as u64 + last
}
