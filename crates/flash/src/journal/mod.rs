//! The log: insertions since the last checkpoint, in two devices that take turns.
//!
//! A *generation* is a start block, a snapshot of the updates that waited in memory when it began, and blocks of updates
//! since. The next generation goes to the other device: snapshot first, sync, then the start block, sync. Only the start
//! block makes it valid, so an interrupted change of generation leaves the one before. After the change, the old start
//! block is cleared, so that damage to the new one is an error and not a silent step back.
//!
//! A commit writes whole blocks after the last ones and syncs. Blocks are never rewritten, so a torn write can only hit
//! what was not acknowledged. Reading stops at the first block that is not valid; if a block of a *later* commit is valid
//! behind it, an acknowledged block was damaged, and that is an error.

pub(crate) mod block;

use std::sync::Arc;

use crate::AlignedBuf;
use crate::device::{PageDevice, Storage};
use crate::error::FlashError;
use crate::geometry::Update;
use block::{
    BLOCK_BYTES, BLOCK_RECORDS, BlockFault, BlockHeader, BlockKind, Start, decode, decode_start,
    encode_start, encode_updates, updates,
};

const NAMES: [&str; 2] = ["log-a", "log-b"];
/// Blocks that are read or written in one operation.
const CHUNK_BLOCKS: usize = 16;
/// A log smaller than this would spend its time on changes of generation.
const LOG_BYTES_MIN: u64 = 256 << 10;

/// The two devices and the place where the next commit goes.
pub(crate) struct Log {
    devices: [Arc<dyn PageDevice>; 2],
    names: [String; 2],
    salt: u64,
    active: usize,
    generation: u64,
    next_block: u32,
    /// What a device grows to when its next generation begins.
    wanted_bytes: u64,
    written_bytes: u64,
    syncs: u64,
}

impl Log {
    /// Size of each of the two devices for `waiting_updates_max` updates in memory and pages of `pages_bytes`: a snapshot
    /// takes a quarter, unless that would make the log larger than the filter.
    pub(crate) fn device_bytes(waiting_updates_max: u64, pages_bytes: u64) -> u64 {
        let snapshot_blocks = waiting_updates_max.div_ceil(BLOCK_RECORDS as u64);
        let ample_bytes = snapshot_blocks.saturating_mul(4 * BLOCK_BYTES as u64);
        ample_bytes.min(pages_bytes.next_multiple_of(BLOCK_BYTES as u64)).max(LOG_BYTES_MIN)
    }

    /// Sets the size that a device grows to when its next generation begins. Says whether the present one is smaller.
    pub(crate) fn want(&mut self, device_bytes: u64) -> bool {
        self.wanted_bytes = device_bytes;
        self.device().len_bytes() < device_bytes
    }

    /// Makes both devices. The log is valid (and empty) on return.
    pub(crate) fn create(storage: &dyn Storage, salt: u64, device_bytes: u64) -> Result<Log, FlashError> {
        let names = NAMES.map(|name| storage.describe(name));
        let make = |i: usize| -> Result<Arc<dyn PageDevice>, FlashError> {
            let device =
                storage.create(NAMES[i], device_bytes).map_err(FlashError::io("create", &names[i]))?;
            // Writing every block once now spares each commit the allocation of space.
            let zeros = AlignedBuf::new(CHUNK_BLOCKS * BLOCK_BYTES);
            let mut offset = 0;
            while offset < device_bytes {
                let len = (device_bytes - offset).min(zeros.len() as u64);
                device
                    .write_at(offset, &zeros[..len as usize])
                    .map_err(FlashError::io("write", &names[i]))?;
                offset += len;
            }
            device.sync().map_err(FlashError::io("sync", &names[i]))?;
            Ok(device)
        };
        let devices = [make(0)?, make(1)?];
        let mut log = Log {
            devices,
            names,
            salt,
            active: 1,
            generation: 0,
            next_block: 0,
            wanted_bytes: 0,
            written_bytes: 0,
            syncs: 0,
        };
        let start = Start { layer_count: 1, ..Start::default() };
        log.restart(start, &mut std::iter::empty())?;
        Ok(log)
    }

    /// Opens the log and hands every update to `visit`, with the kind of block that it is in: snapshot first, then in the order of
    /// commits.
    pub(crate) fn open(
        storage: &dyn Storage,
        salt: u64,
        visit: &mut dyn FnMut(BlockKind, Update),
        begin: &mut dyn FnMut(&Start) -> Result<(), FlashError>,
    ) -> Result<Log, FlashError> {
        let names = NAMES.map(|name| storage.describe(name));
        let open = |i: usize| storage.open(NAMES[i]).map_err(FlashError::io("open", &names[i]));
        let devices = [open(0)?, open(1)?];
        let mut newest: Option<(usize, u64, Start)> = None;
        for i in 0..2 {
            let mut block = AlignedBuf::new(BLOCK_BYTES);
            if devices[i].len_bytes() < BLOCK_BYTES as u64 {
                continue;
            }
            devices[i].read_at(0, &mut block).map_err(FlashError::io("read", &names[i]))?;
            match decode(salt, &block) {
                Ok(header) if header.kind == BlockKind::Start => {
                    if let Ok(start) = decode_start(&block)
                        && newest.as_ref().is_none_or(|(_, generation, _)| header.generation > *generation)
                    {
                        newest = Some((i, header.generation, start));
                    }
                }
                Err(BlockFault::NewerVersion(got)) => {
                    let expected = block::LOG_VERSION;
                    return Err(FlashError::NewerVersion { name: names[i].clone(), got, expected });
                }
                _ => {}
            }
        }
        let Some((active, generation, start)) = newest else {
            return Err(FlashError::Damaged {
                name: format!("{} and {}", names[0], names[1]),
                part: "the log",
                got: "no valid start block".to_owned(),
                expected: "one in either file".to_owned(),
            });
        };
        let mut log = Log {
            devices,
            names,
            salt,
            active,
            generation,
            next_block: 0,
            wanted_bytes: 0,
            written_bytes: 0,
            syncs: 0,
        };
        begin(&start)?;
        log.replay(&start, visit)?;
        Ok(log)
    }

    fn replay(&mut self, start: &Start, visit: &mut dyn FnMut(BlockKind, Update)) -> Result<(), FlashError> {
        let blocks = self.blocks();
        let mut first_invalid = None;
        let mut chunk = AlignedBuf::new(CHUNK_BLOCKS * BLOCK_BYTES);
        let mut index = 1;
        while index < blocks {
            let count = (blocks - index).min(CHUNK_BLOCKS as u32);
            let bytes = &mut chunk[..count as usize * BLOCK_BYTES];
            let offset = u64::from(index) * BLOCK_BYTES as u64;
            self.device().read_at(offset, bytes).map_err(FlashError::io("read", self.name()))?;
            for block in bytes.chunks(BLOCK_BYTES) {
                let is_snapshot = index <= start.snapshot_blocks;
                let expected_kind = if is_snapshot { BlockKind::Snapshot } else { BlockKind::Updates };
                let valid = decode(self.salt, block).ok().filter(|header| {
                    header.generation == self.generation
                        && header.index == index
                        && header.kind == expected_kind
                });
                match (valid, first_invalid) {
                    (Some(header), None) => {
                        updates(&header, block).for_each(|update| visit(header.kind, update));
                        self.next_block = index + 1;
                    }
                    (Some(header), Some(invalid)) if header.commit_first > invalid => {
                        return Err(self.damaged(invalid));
                    }
                    (None, None) if is_snapshot => return Err(self.damaged(index)),
                    (None, None) => first_invalid = Some(index),
                    _ => {}
                }
                index += 1;
            }
        }
        self.next_block = self.next_block.max(1);
        Ok(())
    }

    fn damaged(&self, index: u32) -> FlashError {
        FlashError::Damaged {
            name: self.name().to_owned(),
            part: "the log",
            got: format!("an acknowledged block {index} that cannot be read"),
            expected: "every acknowledged block".to_owned(),
        }
    }

    fn device(&self) -> &dyn PageDevice {
        &*self.devices[self.active]
    }

    pub(crate) fn name(&self) -> &str {
        &self.names[self.active]
    }

    fn blocks(&self) -> u32 {
        (self.device().len_bytes() / BLOCK_BYTES as u64) as u32
    }

    /// Updates that a generation can begin with and still leave half of its blocks for commits.
    pub(crate) fn snapshot_updates_max(&self) -> u64 {
        u64::from(self.blocks() / 2).saturating_sub(1) * BLOCK_RECORDS as u64
    }

    /// Whether `updates` more fit before the next change of generation.
    pub(crate) fn has_room_for(&self, updates: u64) -> bool {
        let blocks = updates.div_ceil(BLOCK_RECORDS as u64);
        u64::from(self.next_block) + blocks <= u64::from(self.blocks())
    }

    /// Blocks and syncs written since opening.
    pub(crate) fn written(&self) -> (u64, u64) {
        (self.written_bytes, self.syncs)
    }

    /// Writes `batch` and returns when it is durable. The caller has checked [`Log::has_room_for`].
    pub(crate) fn commit(&mut self, batch: &[Update]) -> Result<(), FlashError> {
        let device = self.active;
        let first = self.next_block;
        self.next_block = self.write_blocks(
            device,
            self.generation,
            first,
            BlockKind::Updates,
            &mut batch.iter().copied(),
        )?;
        self.sync(device)
    }

    /// Begins a new generation that holds `snapshot` and nothing else. What earlier generations held and is neither in the
    /// snapshot nor durable in its page is lost, so pages are synced before.
    pub(crate) fn restart(
        &mut self,
        start: Start,
        snapshot: &mut dyn Iterator<Item = Update>,
    ) -> Result<(), FlashError> {
        let old = self.active;
        let new = 1 - old;
        let generation = self.generation + 1;
        self.devices[new].grow(self.wanted_bytes).map_err(FlashError::io("grow", &self.names[new]))?;
        let next_block = self.write_blocks(new, generation, 1, BlockKind::Snapshot, snapshot)?;
        if next_block > 1 {
            self.sync(new)?;
        }
        let mut block = AlignedBuf::new(BLOCK_BYTES);
        let start = Start { snapshot_blocks: next_block - 1, ..start };
        encode_start(self.salt, generation, &start, &mut block);
        self.write(new, 0, &block)?;
        self.sync(new)?;
        (self.active, self.generation, self.next_block) = (new, generation, next_block);
        block.fill(0);
        self.write(old, 0, &block)
    }

    /// Writes updates from block `first` on; returns the block after the last.
    fn write_blocks(
        &mut self,
        device: usize,
        generation: u64,
        first: u32,
        kind: BlockKind,
        updates: &mut dyn Iterator<Item = Update>,
    ) -> Result<u32, FlashError> {
        let mut chunk = AlignedBuf::new(CHUNK_BLOCKS * BLOCK_BYTES);
        let mut index = first;
        let mut records = Vec::with_capacity(BLOCK_RECORDS);
        loop {
            let chunk_first = index;
            while ((index - chunk_first) as usize) < CHUNK_BLOCKS {
                records.clear();
                records.extend((&mut *updates).take(BLOCK_RECORDS));
                if records.is_empty() {
                    break;
                }
                let header = BlockHeader {
                    kind,
                    generation,
                    index,
                    commit_first: first,
                    records: records.len() as u32,
                };
                let at = (index - chunk_first) as usize * BLOCK_BYTES;
                encode_updates(self.salt, header, &records, &mut chunk[at..at + BLOCK_BYTES]);
                index += 1;
            }
            let len = (index - chunk_first) as usize * BLOCK_BYTES;
            if len == 0 {
                return Ok(index);
            }
            self.write(device, u64::from(chunk_first) * BLOCK_BYTES as u64, &chunk[..len])?;
        }
    }

    fn write(&mut self, device: usize, offset: u64, bytes: &[u8]) -> Result<(), FlashError> {
        self.devices[device].write_at(offset, bytes).map_err(FlashError::io("write", &self.names[device]))?;
        self.written_bytes += bytes.len() as u64;
        Ok(())
    }

    fn sync(&mut self, device: usize) -> Result<(), FlashError> {
        self.devices[device].sync().map_err(FlashError::io("sync", &self.names[device]))?;
        self.syncs += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{PowerLoss, SimPower, SimStorage};

    fn batch(from: u64, count: u64) -> Vec<Update> {
        (from..from + count).map(|n| Update { page: n as u32, value: n * 7 }).collect()
    }

    fn reopen(storage: &SimStorage) -> Result<(Log, Start, Vec<Update>), FlashError> {
        let (mut found, mut start) = (Vec::new(), Start::default());
        let log = Log::open(storage, 1, &mut |_, update| found.push(update), &mut |s| {
            start = s.clone();
            Ok(())
        })?;
        Ok((log, start, found))
    }

    #[test]
    fn commits_and_snapshots_come_back_in_order() {
        let storage = SimStorage::new(SimPower::steady());
        let mut log = Log::create(&storage, 1, Log::device_bytes(0, 0)).unwrap();
        log.commit(&batch(0, 1000)).unwrap();
        log.commit(&batch(1000, 1)).unwrap();
        assert_eq!(reopen(&storage).unwrap().2, batch(0, 1001));
        let start = Start { layer_count: 3, insertions: 5, ..Start::default() };
        log.restart(start, &mut batch(500, 700).into_iter()).unwrap();
        log.commit(&batch(2000, 10)).unwrap();
        let (mut log, start, found) = reopen(&storage).unwrap();
        assert_eq!(found, [batch(500, 700), batch(2000, 10)].concat());
        assert_eq!((start.layer_count, start.insertions), (3, 5));
        log.commit(&batch(9000, 1)).unwrap();
        assert_eq!(reopen(&storage).unwrap().2.len(), 711);
    }

    #[test]
    fn damage_to_what_was_acknowledged_is_an_error_and_a_torn_tail_is_not() {
        let storage = SimStorage::new(SimPower::steady());
        let mut log = Log::create(&storage, 1, Log::device_bytes(0, 0)).unwrap();
        (0..3).for_each(|n| log.commit(&batch(n * 10, 10)).unwrap());
        let intact = storage.after_power_loss(PowerLoss::KILLED, 0);
        for (block, is_error) in [(0, true), (1, true), (2, true), (3, false)] {
            let storage = intact.after_power_loss(PowerLoss::KILLED, 0);
            storage.damage("log-a", block * BLOCK_BYTES + 60, |bytes| bytes[0] ^= 1);
            match reopen(&storage) {
                Ok((_, _, found)) => assert!(!is_error && found == batch(0, 20), "block {block}"),
                Err(e) => assert!(is_error && matches!(e, FlashError::Damaged { .. }), "block {block}: {e}"),
            }
        }
    }
}
