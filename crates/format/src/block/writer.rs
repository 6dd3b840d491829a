//! Builds the block of one table from its keys in order.

use std::{borrow::Cow, iter};

use springbloom_filter::{GroupBuilder, KeyDigest, UnitSettings};

use super::directory::{self, SegmentEntry};
use super::{BlockHeader, Contents, FinishedBlock, HEADER_BYTES};
use crate::checksum::{CHECKSUM_BYTES, Covers, checksum};

/// Maximum number of keys in a segment. The last segment of a table may have a quarter more. Bounds the memory of the open segment (16
/// bytes per key, and 56 more while its ribbon is solved) and the size of a unit (two device pages).
pub const MAX_SEGMENT_KEYS: usize = 1 << 16;

/// A full segment has at least one key in each of this many bytes of the segment size. What a segment costs in memory in addition to its
/// units does not depend on the size of its values: with few keys it would cost more than the units.
pub const MAX_SEGMENT_BYTES_PER_KEY: u64 = 2048;

/// Collects the keys of one table and builds its filter block.
///
/// Memory: the digests of the open segment and the previous one, the buffers of the unit builder, the fences, and the finished units.
pub struct BlockWriter {
    /// Boxed, so that the fields that `add` uses are close together.
    units: Box<GroupBuilder>,
    segment_size: u64,
    is_bytewise: bool,
    identity: u32,
    contents: Contents,
    /// Digests of the full segment, if there is one, then of the open one.
    digests: Vec<KeyDigest>,
    open_data_bytes: u64,
    full: Option<FullSegment>,
    /// The size at which the next new key rolls the segment.
    roll: RollSize,
    last_key: LastKey,
    /// Closed segments. The next segment's fence is in `fence_bytes` already.
    segments: Vec<SegmentEntry>,
    fence_bytes: Vec<u8>,
    /// The stored form of the units of all closed segments, row by row.
    rows: Vec<Vec<u8>>,
}

/// A full segment. It is closed when the next one has a quarter of its size. If the table ends before, the segments are merged.
struct FullSegment {
    keys: usize,
    data_bytes: u64,
    /// Fence of the open segment.
    next_fence: Vec<u8>,
}

/// Reached by data bytes together with a least number of digests, or by a greatest number of digests.
#[derive(Clone, Copy, Default)]
struct RollSize {
    data_bytes: u64,
    least_digests: usize,
    most_digests: usize,
}

impl RollSize {
    fn of_a_segment(data_bytes: u64) -> Self {
        let least_digests = (data_bytes / MAX_SEGMENT_BYTES_PER_KEY).min(MAX_SEGMENT_KEYS as u64) as usize;
        Self { data_bytes, least_digests, most_digests: MAX_SEGMENT_KEYS }
    }

    /// A `LEAST_PART` of this size, where the digests follow `digests` others.
    fn least_part_behind(self, digests: usize) -> Self {
        Self {
            data_bytes: self.data_bytes / LEAST_PART,
            least_digests: digests + self.least_digests / LEAST_PART as usize,
            most_digests: digests + self.most_digests / LEAST_PART as usize,
        }
    }

    #[inline]
    fn is_reached(&self, data_bytes: u64, digests: usize) -> bool {
        digests >= self.most_digests || (data_bytes >= self.data_bytes && digests >= self.least_digests)
    }
}

/// Entry size for which a segment reserves memory at the start.
const USUAL_ENTRY_BYTES: u64 = 1024;

/// A segment of less than 1/`LEAST_PART` of the segment size is merged with the previous one.
const LEAST_PART: u64 = 4;

impl BlockWriter {
    /// A segment ends at the first new key after `segment_size` bytes of entries (8 MiB is a good start) and a key for each
    /// [`MAX_SEGMENT_BYTES_PER_KEY`] of them. A tail of less than a quarter of that joins the last segment.
    pub fn new(settings: UnitSettings, segment_size: u64) -> Self {
        Self {
            units: Box::new(GroupBuilder::new(settings)),
            segment_size,
            is_bytewise: false,
            identity: 0,
            contents: Contents::Keys,
            digests: Vec::new(),
            open_data_bytes: 0,
            full: None,
            roll: RollSize::default(),
            last_key: LastKey::default(),
            segments: Vec::new(),
            fence_bytes: Vec::new(),
            rows: vec![Vec::new(); settings.unit_count().into()],
        }
    }

    /// Declares that keys come in byte order, so that fences can be shortened.
    pub fn with_bytewise_keys(self) -> Self {
        Self { is_bytewise: true, ..self }
    }

    /// Sets the identity of the table, so that units of another table fail their checksums.
    pub fn with_identity(self, identity: u32) -> Self {
        Self { identity, ..self }
    }

    /// Says that the keys are prefixes.
    pub(super) fn with_prefixes(self) -> Self {
        Self { contents: Contents::Prefixes, ..self }
    }

    /// Bytes of memory that it takes now.
    pub fn memory_bytes(&self) -> usize {
        let full = self.full.as_ref().map_or(0, |full| full.next_fence.capacity());
        self.digests.capacity() * size_of::<KeyDigest>()
            + self.units.memory_bytes()
            + self.segments.capacity() * size_of::<SegmentEntry>()
            + self.fence_bytes.capacity()
            + self.last_key.other.capacity()
            + full
            + self.rows.iter().map(Vec::capacity).sum::<usize>()
    }

    /// Adds an entry of `entry_bytes` bytes under `user_key`. Keys come in the table's order. Versions of one key are adjacent, count once
    /// and stay in one segment.
    #[inline]
    pub fn add(&mut self, user_key: &[u8], entry_bytes: u64) {
        let digest = KeyDigest::of(user_key);
        // Digests tell keys apart, as in the units. Two keys with one digest would both be found under it.
        if self.digests.last() != Some(&digest) {
            if self.is_rolling() {
                self.roll_segment(user_key);
            }
            self.digests.push(digest);
        }
        self.add_bytes(entry_bytes);
        self.last_key.set(user_key);
    }

    /// Adds an entry of this many bytes under the newest key.
    #[inline]
    pub(super) fn add_bytes(&mut self, entry_bytes: u64) {
        self.open_data_bytes = self.open_data_bytes.saturating_add(entry_bytes);
    }

    #[inline]
    fn is_rolling(&self) -> bool {
        self.roll.is_reached(self.open_data_bytes, self.digests.len())
    }

    /// Starts a new segment if the open one is full. Closes the previous one if the open one is large enough to stay separate.
    #[cold]
    #[inline(never)]
    fn roll_segment(&mut self, user_key: &[u8]) {
        if self.digests.is_empty() {
            self.fence_bytes.extend_from_slice(user_key);
            // With entries of 1 KiB the buffer never grows. Reserved memory that is not written costs nothing.
            let most = self.segment_size / USUAL_ENTRY_BYTES * (LEAST_PART + 1) / LEAST_PART;
            self.digests.reserve(most.min(MAX_SEGMENT_KEYS as u64) as usize);
        } else if let Some(full) = self.full.take() {
            self.close_segment(full.keys, full.data_bytes);
            self.fence_bytes.extend_from_slice(&full.next_fence);
        }
        let full_size = RollSize::of_a_segment(self.segment_size);
        if !self.digests.is_empty() && full_size.is_reached(self.open_data_bytes, self.digests.len()) {
            let full = FullSegment {
                keys: self.digests.len(),
                data_bytes: std::mem::take(&mut self.open_data_bytes),
                next_fence: self.fence_at(user_key).to_vec(),
            };
            self.roll = full_size.least_part_behind(full.keys);
            self.full = Some(full);
        } else {
            self.roll = full_size;
        }
    }

    /// Closes the open segment, and the full one before it. Merges them if the open one is too small.
    fn close_all(&mut self) {
        if let Some(full) = self.full.take() {
            if !self.is_rolling() {
                self.open_data_bytes = self.open_data_bytes.saturating_add(full.data_bytes);
            } else {
                self.close_segment(full.keys, full.data_bytes);
                self.fence_bytes.extend_from_slice(&full.next_fence);
            }
        }
        if !self.digests.is_empty() {
            self.close_segment(self.digests.len(), self.open_data_bytes);
        }
    }

    /// The table's block. It is empty if no key was added, if the fences exceed 4 GiB, which the directory cannot address, or if there is
    /// no memory. The table then has no filters.
    pub fn finish(self) -> Vec<u8> {
        self.end().into_bytes().unwrap_or_default()
    }

    /// The same, in pieces.
    pub fn end(self) -> FinishedBlock {
        self.end_before(FinishedBlock::default())
    }

    /// The same, followed by the [block of prefixes](super::PrefixWriter), if that is not empty.
    pub fn end_before(mut self, prefixes: FinishedBlock) -> FinishedBlock {
        self.close_all();
        let segment_count = u32::try_from(self.segments.len());
        let (Ok(segment_count @ 1..), Ok(_)) = (segment_count, u32::try_from(self.fence_bytes.len())) else {
            return prefixes;
        };
        let directory = directory::encode(&self.segments, &self.fence_bytes, &self.last_key.get());
        let prefix_bytes = prefixes.total_bytes();
        let unit_count = self.rows.len() as u8;
        let units = FinishedBlock(self.rows);
        let header = BlockHeader {
            block_bytes: (HEADER_BYTES + directory.len()) as u64 + units.total_bytes() + prefix_bytes,
            directory_bytes: directory.len() as u64,
            segment_count,
            unit_count,
            identity: self.identity,
            contents: if prefix_bytes == 0 { self.contents } else { Contents::KeysBeforePrefixes },
        };
        let head = [&header.encode()[..], &directory].concat();
        FinishedBlock(iter::once(head).chain(units.0).chain(prefixes.0).collect())
    }

    /// The fence of a segment that begins with `user_key`. In byte order, it is the shortest prefix that is above the last key of the
    /// previous segment.
    fn fence_at<'k>(&self, user_key: &'k [u8]) -> &'k [u8] {
        if !self.is_bytewise {
            return user_key;
        }
        let common = self.last_key.get().iter().zip(user_key).take_while(|(a, b)| a == b).count();
        &user_key[..user_key.len().min(common + 1)]
    }

    /// Closes a segment of the first `keys` digests.
    fn close_segment(&mut self, keys: usize, data_bytes: u64) {
        let built = self.units.build(&self.digests[..keys]);
        let (identity, segment) = (self.identity, self.segments.len() as u32);
        for (row, (unit, bytes)) in self.rows.iter_mut().zip((0..).zip(&built.units)) {
            row.reserve(bytes.len() + CHECKSUM_BYTES);
            row.extend_from_slice(bytes);
            let covers = Covers::Unit { identity, segment, unit };
            row.extend_from_slice(&checksum(covers, bytes).to_le_bytes());
        }
        // Only the end of the last fence can be out of range. `finish` then returns an empty block.
        let fence_end = self.fence_bytes.len() as u32;
        self.segments.push(SegmentEntry { data_bytes, shape: built.shape, fence_end });
        self.digests.drain(..keys);
    }
}

/// A copy of the last key. It is made for every key and rarely read, so keys of usual lengths are copied without a call.
#[derive(Default)]
struct LastKey {
    length: usize,
    /// The first and the last 16 bytes of a key of 16 to 32 bytes. They overlap.
    ends: [[u8; 16]; 2],
    /// A key of another length.
    other: Vec<u8>,
}

impl LastKey {
    #[inline]
    fn set(&mut self, key: &[u8]) {
        self.length = key.len();
        match (key.first_chunk(), key.last_chunk()) {
            (Some(first), Some(last)) if key.len() <= 32 => self.ends = [*first, *last],
            _ => {
                self.other.clear();
                self.other.extend_from_slice(key);
            }
        }
    }

    fn get(&self) -> Cow<'_, [u8]> {
        let [first, last] = &self.ends;
        match self.length {
            16..=32 => [&first[..], &last[32 - self.length..]].concat().into(),
            _ => (&self.other).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_key_is_what_was_set() {
        let bytes: Vec<u8> = (0..100).collect();
        let mut last = LastKey::default();
        assert_eq!(*last.get(), []);
        for length in (0..=100).chain((0..=100).rev()) {
            last.set(&bytes[100 - length..]);
            assert_eq!(*last.get(), bytes[100 - length..]);
        }
    }
}
