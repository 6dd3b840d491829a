//! The waiting entries, written when an index is closed, so that the next opening need not replay the log for them. Layout:
//! `docs/flash-index.md`.
//!
//! Invariant: the file says nothing that the log does not say; where it is missing, damaged or of another closing, the log is replayed.

use springbloom_filter::KeyDigest;

use super::manifest::Manifest;
use super::partitions::Partitions;
use crate::AlignedBuf;
use crate::device::Storage;
use crate::error::FlashError;
use crate::header::field;
use crate::mix::{GOLDEN, mix};

const NAME: &str = "waiting";
const BLOCK_BYTES: usize = 64 << 10;
const HEAD_BYTES: usize = 24;
const ENTRY_BYTES: usize = 14;
const BLOCK_ENTRIES: usize = (BLOCK_BYTES - HEAD_BYTES) / ENTRY_BYTES;
const ALIGNMENT: usize = 4096;

fn check(salt: u64, sequence: u64, number: u32, bytes: &[u8]) -> u64 {
    let place = mix(sequence).wrapping_add(u64::from(number));
    KeyDigest::of(&bytes[8..]).lo ^ mix(salt ^ place.wrapping_mul(GOLDEN))
}

/// Writes the waiting entries of `table` for the manifest `sequence`. Durable on return.
pub(crate) fn write(
    storage: &dyn Storage,
    salt: u64,
    sequence: u64,
    table: &Partitions,
) -> Result<(), FlashError> {
    let name = storage.describe(NAME);
    let device = storage.create(NAME, 0).map_err(FlashError::io("create", &name))?;
    let mut buf = AlignedBuf::new(BLOCK_BYTES);
    let mut entries = table.waiting();
    for number in 0u32.. {
        let (mut count, mut at) = (0u32, HEAD_BYTES);
        for (hi, page) in entries.by_ref().take(BLOCK_ENTRIES) {
            buf[at..at + 8].copy_from_slice(&hi.to_le_bytes());
            buf[at + 8..at + ENTRY_BYTES].copy_from_slice(&page.to_le_bytes()[..6]);
            at += ENTRY_BYTES;
            count += 1;
        }
        let len = at.next_multiple_of(ALIGNMENT);
        buf[at..len].fill(0);
        buf[8..16].copy_from_slice(&sequence.to_le_bytes());
        buf[16..20].copy_from_slice(&number.to_le_bytes());
        buf[20..24].copy_from_slice(&count.to_le_bytes());
        let check = check(salt, sequence, number, &buf[..len]);
        buf[..8].copy_from_slice(&check.to_le_bytes());
        let offset = u64::from(number) * BLOCK_BYTES as u64;
        let written = device.grow(offset + len as u64).and_then(|()| device.write_at(offset, &buf[..len]));
        written.map_err(FlashError::io("write", &name))?;
        // A block that is not full is the last.
        if (count as usize) < BLOCK_ENTRIES {
            break;
        }
    }
    device.sync().map_err(FlashError::io("sync", &name))
}

/// Adds the entries that waited when `manifest` or the one before it was written by a closing; whether all of them were there. If not, some may
/// have been added.
pub(crate) fn read(storage: &dyn Storage, manifest: &Manifest, table: &mut Partitions) -> bool {
    manifest.closed > 0 && try_read(storage, manifest, table).is_some()
}

fn try_read(storage: &dyn Storage, manifest: &Manifest, table: &mut Partitions) -> Option<()> {
    let device = storage.open(NAME).ok()?;
    let mut buf = AlignedBuf::new(BLOCK_BYTES);
    let mut left = device.len_bytes();
    for number in 0u32.. {
        let len = left.min(BLOCK_BYTES as u64) as usize;
        left -= len as u64;
        if len < HEAD_BYTES || !len.is_multiple_of(ALIGNMENT) {
            return None;
        }
        let block = &mut buf[..len];
        device.read_at(u64::from(number) * BLOCK_BYTES as u64, block).ok()?;
        let count = u32::from_le_bytes(field(block, 20)) as usize;
        if field(block, 0) != check(manifest.salt, manifest.closed, number, block).to_le_bytes()
            || count > (len - HEAD_BYTES) / ENTRY_BYTES
        {
            return None;
        }
        for entry in block[HEAD_BYTES..].chunks_exact(ENTRY_BYTES).take(count) {
            let hi = u64::from_le_bytes(field(entry, 0));
            let [a, b, c, d, e, f] = field(entry, 8);
            let page = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
            if page >= manifest.counted_page {
                return None;
            }
            table.push(KeyDigest { lo: 0, hi }, page);
        }
        if count < BLOCK_ENTRIES {
            return Some(());
        }
    }
    None
}
