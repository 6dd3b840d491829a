//! The write-ahead log: small changes, durable when a commit returns, until a checkpoint makes them superfluous. Layout:
//! `docs/wal-format.md`.
//!
//! Two segments, one file each, take turns as *generations*. The start block of a generation is written last, and makes it valid.
//!
//! **Every block is stored twice**, so that damage to one block destroys no acknowledged commit. One with a block without an intact copy is
//! the torn tail of an interrupted write. Blocks are written once per generation, so a torn write cannot damage acknowledged data.

mod block;
mod group_commit;
mod replay;

use crate::{AlignedBuf, FlashError, NamedDevice, Storage, Watch, incomplete};
pub use block::START_BYTES_MAX;
use block::{BLOCK_BYTES, Header, PAYLOAD_BYTES, Start, decode_start, encode, encode_start};
pub use group_commit::{CommitGuard, GroupCommit};
pub use replay::WalReport;

pub(crate) const NAMES: [&str; 2] = ["wal-a", "wal-b"];
/// A block and its copy.
pub(crate) const PAIR_BYTES: u64 = 2 * BLOCK_BYTES as u64;
/// Blocks per read or write operation.
const CHUNK_BLOCKS: usize = 16;
/// Blocks of the longest commit. Replay searches this far after a lost block for the next commit.
const COMMIT_BLOCKS_MAX: u32 = 64;
/// Bytes of the longest commit.
pub const COMMIT_BYTES_MAX: usize = COMMIT_BLOCKS_MAX as usize * PAYLOAD_BYTES;
/// First bytes of the contents of a set's log, and the name of the structure in messages.
pub const SET_KIND: (&[u8; 8], &str) = (b"SPBL-SET", "a set");
/// The same for an index.
pub const INDEX_KIND: (&[u8; 8], &str) = (b"SPBL-IDX", "an index");
/// A smaller log would change generations too often.
const BLOCKS_MIN: u32 = 32;
/// More blocks would make a file of more than half a tebibyte.
const BLOCKS_MAX: u64 = 1 << 26;

/// The two segments, and the position of the next commit.
pub struct Wal {
    devices: [NamedDevice; 2],
    /// The valid segment's file, and its start block.
    active: usize,
    start: Start,
    next_block: u32,
    /// Number of the next generation.
    next_generation: u64,
    /// Length of the next generation's file in blocks, if it is longer than the present one.
    wanted_blocks: u32,
    /// The other file has a start block of an older generation.
    has_old_start: bool,
}

impl Wal {
    /// Upper bound of the blocks for `payload_bytes` in commits of at least `commit_bytes`.
    pub fn blocks_for(payload_bytes: u64, commit_bytes: usize) -> u64 {
        let commit_bytes = commit_bytes.clamp(1, COMMIT_BYTES_MAX) as u64;
        payload_bytes.div_ceil(commit_bytes) * commit_bytes.div_ceil(PAYLOAD_BYTES as u64)
    }

    /// Creates both files with `blocks` blocks each. The new log is durable on return, with `contents` and without commits. Tells `watch`
    /// the blocks, and leaves parts of the files if that ends it.
    pub fn create(
        storage: &dyn Storage,
        salt: u64,
        blocks: u64,
        contents: Vec<u8>,
        watch: &mut Watch<'_>,
    ) -> Result<Wal, FlashError> {
        let blocks = within_bounds(blocks);
        watch.expect(2 * u64::from(blocks));
        let mut make = |name: &str| -> Result<NamedDevice, FlashError> {
            let len_bytes = u64::from(blocks) * PAIR_BYTES;
            let device = NamedDevice::create(storage, name, len_bytes)?;
            // Written now, so that commits need not allocate space.
            let zeros = AlignedBuf::new(CHUNK_BLOCKS * PAIR_BYTES as usize);
            for offset in (0..len_bytes).step_by(zeros.len()) {
                let len = (len_bytes - offset).min(zeros.len() as u64) as usize;
                device.write(offset, &zeros[..len])?;
                watch.advance(len as u64 / PAIR_BYTES)?;
            }
            device.sync()?;
            Ok(device)
        };
        let devices = [make(NAMES[0])?, make(NAMES[1])?];
        let start = Start { generation: 0, salt, snapshot_blocks: 0, blocks, contents: Vec::new() };
        let mut wal = Wal {
            devices,
            active: 1,
            start,
            next_block: 1,
            next_generation: 1,
            wanted_blocks: blocks,
            has_old_start: false,
        };
        wal.start_generation(contents, &mut |_| false)?;
        Ok(wal)
    }

    /// Whether there are files of a log, readable or not.
    pub fn exists(storage: &dyn Storage) -> bool {
        let is_missing = |error: &std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
        NAMES.iter().any(|name| !storage.open(name).err().as_ref().is_some_and(is_missing))
    }

    /// Opens the log: finds the valid generation. Reads four blocks. Call [`Wal::replay`] before writing.
    ///
    /// # Errors [`FlashError::NewerVersion`], [`FlashError::Damaged`] if no start block is readable, or [`FlashError::Truncated`].
    pub fn open(storage: &dyn Storage) -> Result<Wal, FlashError> {
        let devices = [NamedDevice::open(storage, NAMES[0])?, NamedDevice::open(storage, NAMES[1])?];
        let mut starts = [read_start(&devices[0])?, read_start(&devices[1])?];
        let has_old_start = starts.iter().all(Option::is_some);
        let generation = |i: usize| starts[i].as_ref().map(|start: &Start| start.generation);
        let active = usize::from(generation(1) > generation(0));
        let Some(start) = starts[active].take() else {
            if devices.iter().all(is_blank) {
                return Err(incomplete(storage, "start of its log"));
            }
            let names = format!("{} and {}", devices[0].name(), devices[1].name());
            return Err(FlashError::damaged(
                &names,
                "the write-ahead log",
                "no valid start block",
                "one in either file",
            ));
        };
        devices[active].require_len(u64::from(start.blocks) * PAIR_BYTES)?;
        let (wanted_blocks, next_generation) = (start.blocks, start.generation + 1);
        Ok(Wal { devices, active, start, next_block: 0, next_generation, wanted_blocks, has_old_start })
    }

    /// Key of the checksums of the structure.
    pub fn salt(&self) -> u64 {
        self.start.salt
    }

    /// Number of the valid generation.
    pub fn generation(&self) -> u64 {
        self.start.generation
    }

    /// Number of the generation that begins next.
    pub fn next_generation(&self) -> u64 {
        self.next_generation
    }

    /// Makes the next generation begin after number `used`, which the structure has used up.
    pub fn begin_after(&mut self, used: u64) {
        self.next_generation = self.next_generation.max(used.saturating_add(1));
    }

    /// The contents stored for the structure in the start block.
    pub fn contents(&self) -> &[u8] {
        &self.start.contents
    }

    /// Refuses the log of another structure than `kind`, [`SET_KIND`] or [`INDEX_KIND`]. `folder` is for the message.
    pub fn require_kind(&self, folder: String, kind: (&[u8; 8], &'static str)) -> Result<(), FlashError> {
        let known = [SET_KIND, INDEX_KIND].into_iter().find(|known| self.start.contents.starts_with(known.0));
        let Some((_, got)) = known else {
            let got = format!("{} bytes of no known structure", self.start.contents.len());
            return Err(FlashError::damaged(self.name(), "the start of the write-ahead log", got, kind.1));
        };
        if got == kind.1 {
            return Ok(());
        }
        Err(FlashError::WrongKind { name: folder, got, expected: kind.1 })
    }

    /// Name of the valid segment's file.
    pub fn name(&self) -> &str {
        self.devices[self.active].name()
    }

    /// Whether commits follow the snapshot. Known after [`Wal::replay`].
    pub fn has_commits(&self) -> bool {
        self.next_block > 1 + self.start.snapshot_blocks
    }

    /// Whether nothing follows the start block. Known after [`Wal::replay`].
    pub fn is_empty(&self) -> bool {
        self.next_block == 1
    }

    /// Whether `blocks` more blocks fit the segment.
    pub fn has_room_for(&self, blocks: u64) -> bool {
        u64::from(self.next_block) + blocks <= u64::from(self.start.blocks)
    }

    /// Blocks of a segment that a snapshot may take. Half of the segment stays free for commits.
    pub fn snapshot_blocks_max(&self) -> u64 {
        u64::from(self.start.blocks / 2).saturating_sub(1)
    }

    /// Reserves `blocks` blocks for the next segment. Returns whether the present one has fewer.
    pub fn reserve(&mut self, blocks: u64) -> bool {
        self.wanted_blocks = within_bounds(blocks).max(self.wanted_blocks);
        self.start.blocks < self.wanted_blocks
    }

    /// Most bytes that all commits of a generation have.
    pub fn payload_bytes_max(&self) -> u64 {
        u64::from(self.start.blocks) * PAYLOAD_BYTES as u64
    }

    /// Bytes written and syncs since opening.
    pub fn written(&self) -> (u64, u64) {
        let [(bytes, syncs), (more_bytes, more_syncs)] = self.devices.each_ref().map(NamedDevice::written);
        (bytes + more_bytes, syncs + more_syncs)
    }

    /// Writes a commit, durable on return. The caller has checked that there is room, and that `payload` has at most [`COMMIT_BYTES_MAX`]
    /// bytes. Cost: one write and one sync.
    pub fn commit(&mut self, payload: &[u8]) -> Result<(), FlashError> {
        self.check_alive()?;
        let (device, generation) = (self.active, self.start.generation);
        let end = self.write_commit(device, generation, self.next_block, payload)?;
        self.devices[device].sync()?;
        self.next_block = end;
        Ok(())
    }

    /// Starts a new generation in the other segment, with `contents` and the commits of `snapshot`. `snapshot` is called with an empty
    /// buffer until it returns false. Each call fills the buffer with at most [`COMMIT_BYTES_MAX`] bytes. Earlier commits are dropped, so
    /// the caller must have made them durable elsewhere or repeat them in the snapshot.
    pub fn start_generation(
        &mut self,
        contents: Vec<u8>,
        snapshot: &mut dyn FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<(), FlashError> {
        self.check_alive()?;
        debug_assert!(contents.len() <= START_BYTES_MAX);
        let (old, new) = (self.active, 1 - self.active);
        let generation = self.next_generation;
        self.clear_start(new, false)?;
        let len_bytes = u64::from(self.wanted_blocks) * PAIR_BYTES;
        self.devices[new].grow(len_bytes)?;
        let blocks = (self.devices[new].len_bytes() / PAIR_BYTES).min(BLOCKS_MAX) as u32;
        let (mut next_block, mut payload) = (1, Vec::new());
        while snapshot(&mut payload) {
            next_block = self.write_commit(new, generation, next_block, &payload)?;
            payload.clear();
        }
        let snapshot_blocks = next_block - 1;
        if snapshot_blocks > 0 {
            self.devices[new].sync()?;
        }
        let start = Start { generation, salt: self.start.salt, snapshot_blocks, blocks, contents };
        let mut pair = AlignedBuf::new(PAIR_BYTES as usize);
        let (first, copy) = pair.split_at_mut(BLOCK_BYTES);
        encode_start(&start, first);
        copy.copy_from_slice(first);
        self.devices[new].write(0, &pair)?;
        self.devices[new].sync()?;
        (self.active, self.start, self.next_block) = (new, start, next_block);
        self.next_generation = generation + 1;
        // Otherwise, damage to both copies of the new start block would bring the old generation back silently.
        self.has_old_start = true;
        self.clear_start(old, true)
    }

    /// Clears an old start block in file `i`.
    fn clear_start(&mut self, i: usize, is_durable: bool) -> Result<(), FlashError> {
        if !self.has_old_start {
            return Ok(());
        }
        self.devices[i].write(0, &AlignedBuf::new(PAIR_BYTES as usize))?;
        if is_durable {
            self.devices[i].sync()?;
        }
        self.has_old_start = false;
        Ok(())
    }

    /// Writes the blocks of a commit from block `first` on. Returns the next free block.
    fn write_commit(
        &self,
        device: usize,
        generation: u64,
        first: u32,
        payload: &[u8],
    ) -> Result<u32, FlashError> {
        let count = payload.len().div_ceil(PAYLOAD_BYTES).max(1);
        debug_assert!(count <= COMMIT_BLOCKS_MAX as usize);
        let mut chunk = AlignedBuf::new(count.min(CHUNK_BLOCKS) * PAIR_BYTES as usize);
        for chunk_first in (0..count).step_by(CHUNK_BLOCKS) {
            let chunk_count = (count - chunk_first).min(CHUNK_BLOCKS);
            for (n, pair) in chunk.chunks_mut(PAIR_BYTES as usize).take(chunk_count).enumerate() {
                let index = first + (chunk_first + n) as u32;
                let header = Header { generation, index, first, count: count as u32 };
                let from = ((chunk_first + n) * PAYLOAD_BYTES).min(payload.len());
                let piece = &payload[from..payload.len().min(from + PAYLOAD_BYTES)];
                let (block, copy) = pair.split_at_mut(BLOCK_BYTES);
                encode(self.start.salt, header, piece, block);
                copy.copy_from_slice(block);
            }
            let offset = u64::from(first + chunk_first as u32) * PAIR_BYTES;
            self.devices[device].write(offset, &chunk[..chunk_count * PAIR_BYTES as usize])?;
        }
        Ok(first + count as u32)
    }

    /// An error if an earlier write failed.
    pub fn check_alive(&self) -> Result<(), FlashError> {
        self.devices.iter().try_for_each(NamedDevice::check_alive)
    }
}

fn within_bounds(blocks: u64) -> u32 {
    blocks.clamp(u64::from(BLOCKS_MIN), BLOCKS_MAX) as u32
}

/// Whether nothing was written where the start is, as in a file that was just made.
fn is_blank(device: &NamedDevice) -> bool {
    let mut blocks = AlignedBuf::new(2 * BLOCK_BYTES);
    device.len_bytes() == 0
        || device.read_at(0, &mut blocks).is_ok_and(|()| blocks.iter().all(|byte| *byte == 0))
}

/// The start block of a file, from either copy. `None` if both are unreadable.
fn read_start(device: &NamedDevice) -> Result<Option<Start>, FlashError> {
    let mut block = AlignedBuf::new(BLOCK_BYTES);
    for copy in 0..2 {
        if device.read_at(copy * BLOCK_BYTES as u64, &mut block).is_err() {
            continue;
        }
        let start = decode_start(&block).map_err(|got| {
            let (name, expected) = (device.name().to_owned(), block::VERSION);
            FlashError::NewerVersion { name, got, expected }
        })?;
        if start.is_some() {
            return Ok(start);
        }
    }
    Ok(None)
}
