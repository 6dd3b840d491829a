//! Reading the log: commit after commit, to its end.

use super::block::{BLOCK_BYTES, Header, decode};
use super::{CHUNK_BLOCKS, COMMIT_BLOCKS_MAX, PAIR_BYTES, Wal};
use crate::{AlignedBuf, FlashError};

/// What reading the log found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalReport {
    /// Commits that are whole, those of the snapshot included.
    pub commits: u64,
    /// Blocks of them, the start block included.
    pub blocks: u64,
    /// Of these, the ones of which one copy is damaged; the other one is intact.
    pub repaired_blocks: u64,
    /// The same of the last commit, which are no damage: the one that wrote it may have been interrupted. Who goes on writing begins a new
    /// generation first, or they would be taken for damage then.
    pub torn_blocks: u64,
    /// Commits that were acknowledged and cannot be read; only [`Wal::salvage`] goes on behind them.
    pub lost_commits: u64,
}

impl WalReport {
    /// Whether every block is there twice.
    pub fn is_sound(&self) -> bool {
        self.repaired_blocks + self.lost_commits == 0
    }
}

/// Takes the payload of a commit; an error ends the reading.
type Visitor<'v> = dyn FnMut(&[u8]) -> Result<(), FlashError> + 'v;

/// A commit that is being read.
#[derive(Default)]
struct Commit {
    first: u32,
    count: u32,
    /// Blocks read of it.
    read: u32,
    payload: Vec<u8>,
    repaired_blocks: u64,
}

/// One block, from either copy.
struct Found<'b> {
    header: Header,
    payload: &'b [u8],
    is_repaired: bool,
}

impl Wal {
    /// Calls `visit` with every commit, in order, one at a time in memory, and finds the end of the log.
    ///
    /// # Errors
    /// [`FlashError::Damaged`] if an acknowledged commit cannot be read; whatever `visit` returns; [`FlashError::Io`].
    pub fn replay(&mut self, visit: &mut Visitor<'_>) -> Result<WalReport, FlashError> {
        let (report, end) = self.read(visit, false)?;
        self.next_block = end;
        Ok(report)
    }

    /// As [`Wal::replay`], without taking note of the end: for who reads the log and does not write.
    pub fn scan(&self, visit: &mut Visitor<'_>) -> Result<WalReport, FlashError> {
        Ok(self.read(visit, false)?.0)
    }

    /// Calls `visit` with every commit that can be read, and counts those that cannot.
    pub fn salvage(&self, visit: &mut Visitor<'_>) -> Result<WalReport, FlashError> {
        Ok(self.read(visit, true)?.0)
    }

    fn read(&self, visit: &mut Visitor<'_>, goes_on: bool) -> Result<(WalReport, u32), FlashError> {
        let mut report = WalReport {
            blocks: 1,
            repaired_blocks: u64::from(self.has_damaged_start()),
            ..WalReport::default()
        };
        let mut commit = Commit::default();
        // Where the log ends unless a later commit shows that it goes on, and where that is given up.
        let mut end: Option<u32> = None;
        let mut repaired_of_last = 0;
        let mut next = 1; // the first block of the next commit
        let mut index = 1;
        let mut chunk = AlignedBuf::new(CHUNK_BLOCKS * PAIR_BYTES as usize);
        'blocks: while index < self.start.blocks {
            let count = (self.start.blocks - index).min(CHUNK_BLOCKS as u32);
            self.read_chunk(index, &mut chunk[..count as usize * PAIR_BYTES as usize]);
            for pair in chunk[..count as usize * PAIR_BYTES as usize].chunks(PAIR_BYTES as usize) {
                let found = self.find(index, pair);
                let begins = |found: &Found<'_>| found.header.first == index;
                match found {
                    Some(found) if begins(&found) && end.is_some_and(|end| index > end) => {
                        if !goes_on {
                            return Err(self.lost(end.unwrap_or_default()));
                        }
                        report.lost_commits += 1;
                        (end, commit) = (None, Commit::of(&found));
                        next = index;
                    }
                    Some(found) if end.is_none() && index == next && begins(&found) => {
                        commit = Commit::of(&found)
                    }
                    Some(found) if end.is_none() && index > next && commit.goes_on_with(&found) => {
                        commit.take(&found)
                    }
                    // Of a commit whose beginning is lost: acknowledged or not, it cannot be used.
                    _ if end.is_none() => end = Some(next),
                    _ => {}
                }
                index += 1;
                if end.is_none() && commit.read == commit.count {
                    visit(&commit.payload)?;
                    report.commits += 1;
                    report.blocks += u64::from(commit.count);
                    report.repaired_blocks +=
                        std::mem::replace(&mut repaired_of_last, commit.repaired_blocks);
                    next = index;
                }
                if end.is_some_and(|end| index > end + 2 * COMMIT_BLOCKS_MAX) {
                    break 'blocks;
                }
            }
        }
        let end = end.unwrap_or(next);
        if end <= self.start.snapshot_blocks {
            // It was durable before the start block was.
            if !goes_on {
                return Err(self.lost(end));
            }
            report.lost_commits += 1;
        } else if end == 1 + self.start.snapshot_blocks {
            report.repaired_blocks += repaired_of_last;
        } else {
            report.torn_blocks = repaired_of_last;
        }
        Ok((report, end))
    }

    /// Fills `chunk` with the pairs from block `index` on; what cannot be read is zeros, which is no block.
    fn read_chunk(&self, index: u32, chunk: &mut [u8]) {
        let device = &self.devices[self.active];
        let offset = u64::from(index) * PAIR_BYTES;
        if device.read_at(offset, chunk).is_err() {
            for (n, block) in chunk.chunks_mut(BLOCK_BYTES).enumerate() {
                if device.read_at(offset + (n * BLOCK_BYTES) as u64, block).is_err() {
                    block.fill(0);
                }
            }
        }
    }

    fn find<'b>(&self, index: u32, pair: &'b [u8]) -> Option<Found<'b>> {
        let (block, copy) = pair.split_at(BLOCK_BYTES);
        let of_this = |block: &'b [u8]| {
            decode(self.start.salt, block)
                .filter(|(header, _)| (header.generation, header.index) == (self.start.generation, index))
        };
        let (block, copy) = (of_this(block), of_this(copy));
        let is_repaired = block.is_none() || copy.is_none();
        block.or(copy).map(|(header, payload)| Found { header, payload, is_repaired })
    }

    fn has_damaged_start(&self) -> bool {
        let mut pair = AlignedBuf::new(PAIR_BYTES as usize);
        let read = self.devices[self.active].read_at(0, &mut pair);
        let (block, copy) = pair.split_at(BLOCK_BYTES);
        read.is_err() || block != copy
    }

    fn lost(&self, index: u32) -> FlashError {
        FlashError::Damaged {
            name: self.name().to_owned(),
            part: "the write-ahead log",
            got: format!("an acknowledged commit at block {index} that cannot be read"),
            expected: "one intact copy of each of its blocks".to_owned(),
        }
    }
}

impl Commit {
    fn of(found: &Found<'_>) -> Commit {
        let mut commit = Commit { first: found.header.first, count: found.header.count, ..Commit::default() };
        commit.take(found);
        commit
    }

    fn goes_on_with(&self, found: &Found<'_>) -> bool {
        let Header { index, first, count, .. } = found.header;
        (first, count) == (self.first, self.count) && index == first + self.read
    }

    fn take(&mut self, found: &Found<'_>) {
        self.payload.extend_from_slice(found.payload);
        self.read += 1;
        self.repaired_blocks += u64::from(found.is_repaired);
    }
}
