//! Reads the log, commit after commit, to its end.

use super::block::{BLOCK_BYTES, Header, decode};
use super::{CHUNK_BLOCKS, COMMIT_BLOCKS_MAX, PAIR_BYTES, Wal};
use crate::{AlignedBuf, FlashError};

/// Result of reading the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalReport {
    /// Intact commits, including those of the snapshot.
    pub commits: u64,
    /// Blocks with one damaged and one intact copy.
    pub repaired_blocks: u64,
    /// The same in the last commit. These are not damage, since its write may have been interrupted. A writer must start a new generation
    /// before it goes on. Otherwise they would count as damage later.
    pub torn_blocks: u64,
    /// Acknowledged commits that are unreadable. Only [`Wal::salvage`] reads on after them.
    pub lost_commits: u64,
}

impl WalReport {
    /// Whether both copies of every block are intact.
    pub fn is_sound(&self) -> bool {
        self.repaired_blocks + self.lost_commits == 0
    }
}

/// Receives the payload of a commit. An error ends the reading.
type Visitor<'v> = dyn FnMut(&[u8]) -> Result<(), FlashError> + 'v;

/// A commit being read.
#[derive(Default)]
struct Commit {
    first: u32,
    count: u32,
    /// Number of its blocks read so far.
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
    /// Calls `visit` with every commit, in order, and finds the end of the log. Keeps one commit in memory.
    ///
    /// # Errors [`FlashError::Damaged`] if an acknowledged commit is unreadable, errors of `visit`, or [`FlashError::Io`].
    pub fn replay(&mut self, visit: &mut Visitor<'_>) -> Result<WalReport, FlashError> {
        let (report, end) = self.read(visit, false)?;
        self.next_block = end;
        Ok(report)
    }

    /// Like [`Wal::replay`], for readers: does not set the end of the log.
    pub fn scan(&self, visit: &mut Visitor<'_>) -> Result<WalReport, FlashError> {
        Ok(self.read(visit, false)?.0)
    }

    /// Calls `visit` with every readable commit and counts the unreadable ones.
    pub fn salvage(&self, visit: &mut Visitor<'_>) -> Result<WalReport, FlashError> {
        Ok(self.read(visit, true)?.0)
    }

    fn read(&self, visit: &mut Visitor<'_>, goes_on: bool) -> Result<(WalReport, u32), FlashError> {
        let mut report =
            WalReport { repaired_blocks: u64::from(self.has_damaged_start()), ..WalReport::default() };
        let mut commit = Commit::default();
        // The end of the log, unless a later commit follows before the search is given up.
        let mut end: Option<u32> = None;
        let mut repaired_of_last = 0;
        let mut is_overwritten = false;
        let mut next = 1; // the first block of the next commit
        let mut index = 1;
        let mut chunk = AlignedBuf::new(CHUNK_BLOCKS * PAIR_BYTES as usize);
        'blocks: while index < self.start.blocks {
            let count = (self.start.blocks - index).min(CHUNK_BLOCKS as u32);
            self.read_chunk(index, &mut chunk[..count as usize * PAIR_BYTES as usize]);
            for pair in chunk[..count as usize * PAIR_BYTES as usize].chunks(PAIR_BYTES as usize) {
                let newer = self.newer(pair);
                if let Some(generation) = newer.filter(|_| !goes_on) {
                    return Err(self.torn_copy(generation));
                }
                is_overwritten |= newer.is_some();
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
                    // A block of a commit whose beginning is lost. It is unusable whether or not it was acknowledged.
                    _ if end.is_none() => end = Some(next),
                    _ => {}
                }
                index += 1;
                if end.is_none() && commit.read == commit.count {
                    visit(&commit.payload)?;
                    report.commits += 1;
                    report.repaired_blocks +=
                        std::mem::replace(&mut repaired_of_last, commit.repaired_blocks);
                    next = index;
                }
                if end.is_some_and(|end| index > end + 2 * COMMIT_BLOCKS_MAX) {
                    break 'blocks;
                }
            }
        }
        report.lost_commits += u64::from(is_overwritten);
        let end = end.unwrap_or(next);
        if end <= self.start.snapshot_blocks {
            // The snapshot was durable before the start block.
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

    /// Fills `chunk` with the pairs of blocks from `index` on. Unreadable ones are set to zero, which is no valid block.
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

    /// The generation of a block that was written over one of this generation. A writer clears the start block first, so the file was
    /// copied while it was written.
    fn newer(&self, pair: &[u8]) -> Option<u64> {
        let of = |block| decode(self.start.salt, block).map(|(header, _)| header.generation);
        pair.chunks(BLOCK_BYTES).filter_map(of).max().filter(|generation| *generation > self.start.generation)
    }

    fn torn_copy(&self, got: u64) -> FlashError {
        let (name, part, expected) = (self.name().to_owned(), "blocks", self.start.generation);
        FlashError::TornCopy { name, part, got, expected }
    }

    fn has_damaged_start(&self) -> bool {
        let mut pair = AlignedBuf::new(PAIR_BYTES as usize);
        let read = self.devices[self.active].read_at(0, &mut pair);
        let (block, copy) = pair.split_at(BLOCK_BYTES);
        read.is_err() || block != copy
    }

    fn lost(&self, index: u32) -> FlashError {
        let got = format!("an acknowledged commit at block {index} that cannot be read");
        FlashError::damaged(self.name(), "the write-ahead log", got, "one intact copy of each of its blocks")
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
