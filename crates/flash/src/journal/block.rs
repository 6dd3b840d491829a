//! One block of the log: bytes <-> records. Layout: `docs/flash-format.md`.
//!
//! A block is written once and never again within a generation: what was acknowledged cannot be torn by a later write.

use springbloom_filter::KeyDigest;

use crate::geometry::Update;
use crate::header::field;
use crate::mix::{GOLDEN, mix};

/// First bytes of every block, after its checksum.
pub(crate) const LOG_MAGIC: [u8; 8] = *b"SPBLFLOG";
/// Version that this program writes, and the newest it reads.
pub(crate) const LOG_VERSION: u32 = 1;
/// Bytes of a block.
pub(crate) const BLOCK_BYTES: usize = 4096;
/// Bytes of a record: page (u32) and tag or bit position (u64).
pub(crate) const RECORD_BYTES: usize = 12;
/// Bytes before the records of a block.
pub(crate) const BLOCK_HEADER_BYTES: usize = 48;
/// Records that fit into a block.
pub(crate) const BLOCK_RECORDS: usize = (BLOCK_BYTES - BLOCK_HEADER_BYTES) / RECORD_BYTES;
/// Filters that a chain can have; twice the capacity each, so nobody gets there.
pub(crate) const LAYERS_MAX: usize = 48;

/// What a block is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    /// First block of a generation; makes it valid.
    Start,
    /// Updates that waited when the generation began.
    Snapshot,
    /// Updates since.
    Updates,
}

impl BlockKind {
    const ALL: [BlockKind; 3] = [BlockKind::Start, BlockKind::Snapshot, BlockKind::Updates];
}

/// Everything in a block's header that is not derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    pub(crate) kind: BlockKind,
    pub(crate) generation: u64,
    /// Place in the log.
    pub(crate) index: u32,
    /// Place of the first block of the same commit.
    pub(crate) commit_first: u32,
    pub(crate) records: u32,
}

/// Contents of a start block.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Start {
    /// Filters of the chain; the last one takes updates.
    pub(crate) layer_count: u32,
    /// Snapshot blocks that follow.
    pub(crate) snapshot_blocks: u32,
    /// Insertions acknowledged up to here, repetitions included.
    pub(crate) insertions: u64,
}

/// Why a block is not one of this log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BlockFault {
    Checksum,
    /// A block as this program writes it, of a later version.
    NewerVersion(u32),
    Contents,
}

fn checksum(salt: u64, block: &[u8]) -> u64 {
    let index = u64::from(u32::from_le_bytes(field(block, 32)));
    KeyDigest::of(&block[8..]).lo ^ mix(salt ^ index.wrapping_mul(GOLDEN))
}

fn write_header(header: &BlockHeader, block: &mut [u8]) {
    block.fill(0);
    block[8..16].copy_from_slice(&LOG_MAGIC);
    block[16..20].copy_from_slice(&LOG_VERSION.to_le_bytes());
    block[20] = header.kind as u8;
    block[24..32].copy_from_slice(&header.generation.to_le_bytes());
    block[32..36].copy_from_slice(&header.index.to_le_bytes());
    block[36..40].copy_from_slice(&header.commit_first.to_le_bytes());
    block[40..44].copy_from_slice(&header.records.to_le_bytes());
}

fn seal(salt: u64, block: &mut [u8]) {
    let sum = checksum(salt, block);
    block[..8].copy_from_slice(&sum.to_le_bytes());
}

/// Writes a block of updates; at most [`BLOCK_RECORDS`] of them.
pub(crate) fn encode_updates(salt: u64, header: BlockHeader, updates: &[Update], block: &mut [u8]) {
    write_header(&header, block);
    for (record, update) in block[BLOCK_HEADER_BYTES..].chunks_exact_mut(RECORD_BYTES).zip(updates) {
        record[..4].copy_from_slice(&update.page.to_le_bytes());
        record[4..].copy_from_slice(&update.value.to_le_bytes());
    }
    seal(salt, block);
}

/// Writes the start block of `generation`.
pub(crate) fn encode_start(salt: u64, generation: u64, start: &Start, block: &mut [u8]) {
    let header = BlockHeader { kind: BlockKind::Start, generation, index: 0, commit_first: 0, records: 0 };
    write_header(&header, block);
    block[48..52].copy_from_slice(&start.layer_count.to_le_bytes());
    block[52..56].copy_from_slice(&start.snapshot_blocks.to_le_bytes());
    block[56..64].copy_from_slice(&start.insertions.to_le_bytes());
    seal(salt, block);
}

/// Reads a block's header. Total.
pub(crate) fn decode(salt: u64, block: &[u8]) -> Result<BlockHeader, BlockFault> {
    if field::<8>(block, 0) != checksum(salt, block).to_le_bytes() || field::<8>(block, 8) != LOG_MAGIC {
        return Err(BlockFault::Checksum);
    }
    match u32::from_le_bytes(field(block, 16)) {
        LOG_VERSION => {}
        newer if newer > LOG_VERSION => return Err(BlockFault::NewerVersion(newer)),
        _ => return Err(BlockFault::Contents),
    }
    let kind = BlockKind::ALL.get(usize::from(block[20])).copied().ok_or(BlockFault::Contents)?;
    let header = BlockHeader {
        kind,
        generation: u64::from_le_bytes(field(block, 24)),
        index: u32::from_le_bytes(field(block, 32)),
        commit_first: u32::from_le_bytes(field(block, 36)),
        records: u32::from_le_bytes(field(block, 40)),
    };
    let is_sane = header.records as usize <= BLOCK_RECORDS && header.commit_first <= header.index;
    if is_sane { Ok(header) } else { Err(BlockFault::Contents) }
}

/// The start record of a block that [`decode`] took for one.
pub(crate) fn decode_start(block: &[u8]) -> Result<Start, BlockFault> {
    let start = Start {
        layer_count: u32::from_le_bytes(field(block, 48)),
        snapshot_blocks: u32::from_le_bytes(field(block, 52)),
        insertions: u64::from_le_bytes(field(block, 56)),
    };
    let layers = 1..=LAYERS_MAX as u32;
    if layers.contains(&start.layer_count) { Ok(start) } else { Err(BlockFault::Contents) }
}

/// The updates of a block with this header.
pub(crate) fn updates<'a>(header: &BlockHeader, block: &'a [u8]) -> impl Iterator<Item = Update> + 'a {
    block[BLOCK_HEADER_BYTES..].chunks_exact(RECORD_BYTES).take(header.records as usize).map(|record| {
        Update { page: u32::from_le_bytes(field(record, 0)), value: u64::from_le_bytes(field(record, 4)) }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample(records: usize) -> (BlockHeader, Vec<Update>, Vec<u8>) {
        let header = BlockHeader {
            kind: BlockKind::Updates,
            generation: 9,
            index: 5,
            commit_first: 4,
            records: records as u32,
        };
        let updates: Vec<Update> =
            (0..records as u64).map(|n| Update { page: n as u32 * 3, value: n << 40 }).collect();
        let mut block = vec![0xaa; BLOCK_BYTES];
        encode_updates(77, header, &updates, &mut block);
        (header, updates, block)
    }

    #[test]
    fn blocks_come_back_as_written() {
        for records in [0, 1, BLOCK_RECORDS] {
            let (header, written, block) = sample(records);
            assert_eq!(decode(77, &block), Ok(header));
            assert_eq!(updates(&header, &block).collect::<Vec<_>>(), written);
        }
        let start = Start { layer_count: 2, snapshot_blocks: 7, insertions: 1 << 40 };
        let mut block = vec![0; BLOCK_BYTES];
        encode_start(1, 3, &start, &mut block);
        assert_eq!(decode(1, &block).map(|h| (h.kind, h.generation)), Ok((BlockKind::Start, 3)));
        assert_eq!(decode_start(&block), Ok(start));
    }

    #[test]
    fn flips_and_foreign_logs_are_noticed() {
        let (_, _, block) = sample(100);
        assert_eq!(decode(78, &block), Err(BlockFault::Checksum), "another filter's salt");
        assert_eq!(decode(77, &[0; BLOCK_BYTES]), Err(BlockFault::Checksum));
        for at in 0..BLOCK_BYTES {
            let mut copy = block.clone();
            copy[at] ^= 4;
            assert!(decode(77, &copy).is_err(), "byte {at}");
        }
    }

    proptest! {
        #[test]
        fn decoding_is_total(at in 8usize..64, bytes in proptest::collection::vec(any::<u8>(), 1..32)) {
            let (_, _, mut block) = sample(10);
            block[at..at + bytes.len()].copy_from_slice(&bytes);
            seal(77, &mut block);
            if let Ok(header) = decode(77, &block) {
                prop_assert!(updates(&header, &block).count() <= BLOCK_RECORDS);
                let _ = decode_start(&block);
            }
        }
    }
}
