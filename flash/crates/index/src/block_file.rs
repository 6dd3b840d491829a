//! Files written by a clean close to speed up the next opening: blocks of whole items, with a mark on the last block. Layout:
//! `docs/index.md`.
//!
//! Invariant: such a file is redundant. It is ignored if it is missing, damaged or of another close.

use springbloom_page_device::{
    AlignedBuf, FlashError, NamedDevice, Storage, Watch, checksum, mix, u16_at, u64_at,
};

const BLOCK_BYTES: usize = 64 << 10;
const HEAD_BYTES: usize = 24;
/// Longest item, in bytes.
pub(crate) const ITEM_BYTES_MAX: usize = BLOCK_BYTES - HEAD_BYTES;
const ALIGNMENT: usize = 4096;

/// Key of the checksums of one close.
#[derive(Clone, Copy)]
pub(crate) struct BlockKey {
    pub(crate) salt: u64,
    /// Sequence number of the manifest written by the same close.
    pub(crate) sequence: u64,
}

impl BlockKey {
    fn check(&self, number: u32, block: &[u8]) -> u64 {
        let place = mix(self.sequence).wrapping_add(u64::from(number));
        checksum(self.salt, place, &block[8..])
    }
}

pub(crate) struct BlockWriter {
    device: NamedDevice,
    closing: BlockKey,
    buf: AlignedBuf,
    number: u32,
    items: u16,
    /// End of the items in `buf`.
    at: usize,
}

impl BlockWriter {
    pub(crate) fn create(
        storage: &dyn Storage,
        file: &str,
        closing: BlockKey,
    ) -> Result<BlockWriter, FlashError> {
        let (device, buf) = (NamedDevice::create(storage, file, 0)?, AlignedBuf::new(BLOCK_BYTES));
        Ok(BlockWriter { device, closing, buf, number: 0, items: 0, at: HEAD_BYTES })
    }

    /// Adds an item of at most [`ITEM_BYTES_MAX`] bytes.
    pub(crate) fn push(&mut self, item: &[u8]) -> Result<(), FlashError> {
        if self.at + item.len() > BLOCK_BYTES || self.items == u16::MAX {
            self.write(false)?;
        }
        self.buf[self.at..self.at + item.len()].copy_from_slice(item);
        self.at += item.len();
        self.items += 1;
        Ok(())
    }

    /// Writes the last block. Durable on return.
    pub(crate) fn finish(mut self) -> Result<(), FlashError> {
        self.write(true)?;
        self.device.sync()
    }

    fn write(&mut self, is_last: bool) -> Result<(), FlashError> {
        let len = if is_last { self.at.next_multiple_of(ALIGNMENT) } else { BLOCK_BYTES };
        let block = &mut self.buf[..len];
        block[self.at..].fill(0);
        block[8..16].copy_from_slice(&self.closing.sequence.to_le_bytes());
        block[16..20].copy_from_slice(&self.number.to_le_bytes());
        block[20..22].copy_from_slice(&self.items.to_le_bytes());
        block[22..24].copy_from_slice(&u16::from(is_last).to_le_bytes());
        let check = self.closing.check(self.number, block);
        block[..8].copy_from_slice(&check.to_le_bytes());
        let offset = u64::from(self.number) * BLOCK_BYTES as u64;
        self.device.grow(offset + len as u64)?;
        self.device.write(offset, block)?;
        (self.number, self.items, self.at) = (self.number + 1, 0, HEAD_BYTES);
        Ok(())
    }
}

/// Calls `visit` with the number of items of each block, and their bytes (followed by zeros). Tells `watch` the bytes. Returns false if the
/// file is incomplete or of another close, or if `visit` returns `None`. Some blocks may have been visited then.
pub(crate) fn read_blocks(
    storage: &dyn Storage,
    file: &str,
    closing: BlockKey,
    watch: &mut Watch<'_>,
    mut visit: impl FnMut(usize, &[u8]) -> Option<()>,
) -> Result<bool, FlashError> {
    let Ok(device) = storage.open(file) else { return Ok(false) };
    let mut buf = AlignedBuf::new(BLOCK_BYTES);
    let mut left = device.len_bytes();
    watch.expect(left);
    for number in 0u32.. {
        let len = left.min(BLOCK_BYTES as u64) as usize;
        left -= len as u64;
        if len < HEAD_BYTES || !len.is_multiple_of(ALIGNMENT) {
            break;
        }
        let block = &mut buf[..len];
        let read = device.read_at(u64::from(number) * BLOCK_BYTES as u64, block);
        if read.is_err() || u64_at(block, 0) != closing.check(number, block) {
            break;
        }
        if visit(usize::from(u16_at(block, 20)), &block[HEAD_BYTES..]).is_none() {
            break;
        }
        watch.advance(len as u64)?;
        if block[22] == 1 {
            return Ok(true);
        }
    }
    Ok(false)
}
