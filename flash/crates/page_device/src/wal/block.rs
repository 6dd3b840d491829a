//! Encoding of one block of the log. Layout: `docs/wal-format.md`.

use crate::fields::{field, u32_at, u64_at};
use crate::mix::checksum;

/// Magic bytes of every block, after its checksum.
pub(super) const MAGIC: [u8; 8] = *b"SPBL-WAL";
/// The version that this program writes, and the newest that it reads.
pub(super) const VERSION: u32 = 1;
/// Bytes of a block.
pub(super) const BLOCK_BYTES: usize = 4096;
const HEADER_BYTES: usize = 48;
/// Bytes of a commit per block.
pub(super) const PAYLOAD_BYTES: usize = BLOCK_BYTES - HEADER_BYTES;
/// Bytes of a start block before the contents of the structure.
const START_FIELDS_BYTES: usize = 24;
/// Bytes that a structure may store in the start block.
pub const START_BYTES_MAX: usize = PAYLOAD_BYTES - START_FIELDS_BYTES;

const KIND_START: u8 = 0;
const KIND_COMMIT: u8 = 1;

/// The header of a block, without checksum, magic bytes and version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) generation: u64,
    /// Number of the block in its file.
    pub(super) index: u32,
    /// Number of the first block of the same commit, and number of blocks of the commit.
    pub(super) first: u32,
    pub(super) count: u32,
}

/// The content of a start block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) generation: u64,
    /// Key of the checksums of this log.
    pub(super) salt: u64,
    /// Blocks of the snapshot's commits. They were durable before this block.
    pub(super) snapshot_blocks: u32,
    /// Length of the file in blocks.
    pub(super) blocks: u32,
    /// The contents stored for the structure.
    pub(super) contents: Vec<u8>,
}

fn write(kind: u8, header: Header, salt: u64, payload: &[u8], block: &mut [u8]) {
    block.fill(0);
    block[8..16].copy_from_slice(&MAGIC);
    block[16..20].copy_from_slice(&VERSION.to_le_bytes());
    block[20] = kind;
    block[24..32].copy_from_slice(&header.generation.to_le_bytes());
    block[32..36].copy_from_slice(&header.index.to_le_bytes());
    block[36..40].copy_from_slice(&header.first.to_le_bytes());
    block[40..44].copy_from_slice(&header.count.to_le_bytes());
    block[44..48].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    block[HEADER_BYTES..HEADER_BYTES + payload.len()].copy_from_slice(payload);
    let sum = checksum(salt, u64::from(header.index), &block[8..]);
    block[..8].copy_from_slice(&sum.to_le_bytes());
}

/// Writes a block of a commit, with at most [`PAYLOAD_BYTES`] of its payload.
pub(super) fn encode(salt: u64, header: Header, payload: &[u8], block: &mut [u8]) {
    write(KIND_COMMIT, header, salt, payload, block);
}

/// Decodes a block of a commit. `None` if it is damaged or of another log. Total.
pub(super) fn decode(salt: u64, block: &[u8]) -> Option<(Header, &[u8])> {
    let index = u32_at(block, 32);
    let is_intact = u64_at(block, 0) == checksum(salt, u64::from(index), &block[8..])
        && field(block, 8) == MAGIC
        && u32_at(block, 16) == VERSION
        && block[20] == KIND_COMMIT;
    if !is_intact {
        return None;
    }
    let header =
        Header { generation: u64_at(block, 24), index, first: u32_at(block, 36), count: u32_at(block, 40) };
    let payload = block[HEADER_BYTES..].get(..u32_at(block, 44) as usize)?;
    let end = header.first.checked_add(header.count)?;
    (header.first <= header.index && header.index < end).then_some((header, payload))
}

/// Writes a start block. The contents have at most [`START_BYTES_MAX`] bytes.
pub(super) fn encode_start(start: &Start, block: &mut [u8]) {
    let mut payload = Vec::with_capacity(START_FIELDS_BYTES + start.contents.len());
    payload.extend(start.salt.to_le_bytes());
    payload.extend(start.snapshot_blocks.to_le_bytes());
    payload.extend(start.blocks.to_le_bytes());
    payload.extend((start.contents.len() as u64).to_le_bytes());
    payload.extend(&start.contents);
    let header = Header { generation: start.generation, index: 0, first: 0, count: 1 };
    write(KIND_START, header, start.salt, &payload, block);
}

/// Reads a start block, which holds the key of its own checksum. `None` if it is damaged or none. Total.
///
/// # Errors The version of a newer program.
pub(super) fn decode_start(block: &[u8]) -> Result<Option<Start>, u32> {
    let salt = u64_at(block, HEADER_BYTES);
    if field(block, 8) != MAGIC || u64_at(block, 0) != checksum(salt, 0, &block[8..]) {
        return Ok(None);
    }
    let version = u32_at(block, 16);
    if version > VERSION {
        return Err(version);
    }
    let fields = &block[HEADER_BYTES..];
    let len = u64_at(fields, 16);
    let contents = fields[START_FIELDS_BYTES..].get(..usize::try_from(len).unwrap_or(usize::MAX));
    let contents = contents.filter(|_| version == VERSION && block[20] == KIND_START);
    Ok(contents.map(|contents| Start {
        generation: u64_at(block, 24),
        salt,
        snapshot_blocks: u32_at(fields, 8),
        blocks: u32_at(fields, 12),
        contents: contents.to_vec(),
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEADER: Header = Header { generation: 9, index: 5, first: 4, count: 3 };

    fn sample(payload: &[u8]) -> Vec<u8> {
        let mut block = vec![0xaa; BLOCK_BYTES];
        encode(77, HEADER, payload, &mut block);
        block
    }

    fn start() -> Start {
        Start { generation: 3, salt: 1, snapshot_blocks: 7, blocks: 64, contents: vec![5; START_BYTES_MAX] }
    }

    #[test]
    fn blocks_come_back_as_written() {
        for payload in [vec![], vec![1], vec![3; PAYLOAD_BYTES]] {
            assert_eq!(decode(77, &sample(&payload)), Some((HEADER, &payload[..])));
        }
        let mut block = vec![0; BLOCK_BYTES];
        encode_start(&start(), &mut block);
        assert_eq!(decode_start(&block), Ok(Some(start())));
        assert_eq!(decode(1, &block), None, "a start is no commit");
    }

    #[test]
    fn flips_foreign_logs_and_later_versions_are_told_apart() {
        let block = sample(b"payload");
        assert_eq!(decode(78, &block), None, "another log's salt");
        assert_eq!(decode_start(&block), Ok(None));
        let mut first = vec![0; BLOCK_BYTES];
        encode_start(&start(), &mut first);
        for at in 0..BLOCK_BYTES {
            for (of_start, block) in [(false, &block), (true, &first)] {
                let mut copy = block.clone();
                copy[at] ^= 4;
                let is_refused =
                    if of_start { decode_start(&copy) == Ok(None) } else { decode(77, &copy).is_none() };
                assert!(is_refused, "byte {at}");
            }
        }
        first[16] = 9;
        let sum = checksum(1, 0, &first[8..]);
        first[..8].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(decode_start(&first), Err(9));
    }

    proptest! {
        #[test]
        fn decoding_is_total(at in 8usize..80, bytes in proptest::collection::vec(any::<u8>(), 1..40)) {
            // With a valid checksum, so that the checks after it are reached.
            let mut block = sample(b"payload");
            block[at..at + bytes.len()].copy_from_slice(&bytes);
            let index = u64::from(u32_at(&block, 32));
            let sum = checksum(77, index, &block[8..]);
            block[..8].copy_from_slice(&sum.to_le_bytes());
            if let Some((header, payload)) = decode(77, &block) {
                prop_assert!(payload.len() <= PAYLOAD_BYTES && header.first <= header.index);
            }
            let salt = u64_at(&block, HEADER_BYTES);
            let sum = checksum(salt, 0, &block[8..]);
            block[..8].copy_from_slice(&sum.to_le_bytes());
            if let Ok(Some(start)) = decode_start(&block) {
                prop_assert!(start.contents.len() <= START_BYTES_MAX);
            }
        }
    }
}
