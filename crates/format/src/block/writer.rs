//! Builds the block of one table from its keys in order.

use std::borrow::Cow;

use springbloom_filter::{GroupBuilder, KeyDigest, UnitSettings};

use super::directory::{self, SegmentEntry};
use super::{BlockHeader, HEADER_BYTES};
use crate::checksum::{CHECKSUM_BYTES, Covers, checksum};

/// Most keys of a segment, whatever its data bytes, but for the last one of a table, which may have a quarter more: bounds the memory of the
/// open segment (16 bytes a key, and 56 more while its ribbon is solved) and of a unit (two device pages).
pub const MAX_SEGMENT_KEYS: usize = 1 << 16;

/// Collects the keys of one table and builds its filter block.
///
/// Memory: the digests of the open segment and the one before it, what building units takes, the units built so far, the fences.
pub struct BlockWriter {
    /// Apart, so that what `add` needs lies close together.
    units: Box<GroupBuilder>,
    segment_data_bytes: u64,
    is_bytewise: bool,
    identity: u32,
    /// Of the segment that is closing, if one is, then of the open one.
    digests: Vec<KeyDigest>,
    open_data_bytes: u64,
    closing: Option<Closing>,
    /// At so many bytes of the open segment, or so many digests, a new key opens another one or lets the closing one go.
    turn_data_bytes: u64,
    turn_digests: usize,
    last_key: LastKey,
    /// Closed segments; the fence of the one behind them is already in `fence_bytes`.
    segments: Vec<SegmentEntry>,
    fence_bytes: Vec<u8>,
    /// Stored form of unit `u` of all closed segments.
    rows: Vec<Vec<u8>>,
}

/// A segment that is full. It is closed when the one behind it has a quarter of its size; a table that ends before has that in it as well.
struct Closing {
    keys: usize,
    data_bytes: u64,
    /// Fence of the open segment.
    next_fence: Vec<u8>,
}

/// For how large entries a segment has room from the start.
const USUAL_ENTRY_BYTES: u64 = 1024;

/// Of the size of a segment, the part that is worth a segment of its own.
const LEAST_PART: u64 = 4;

impl BlockWriter {
    /// A segment ends at the first new key after it has reached `segment_data_bytes` of entries (8 MiB is a good start), or at the end of
    /// the table if less than a quarter of that follows.
    pub fn new(settings: UnitSettings, segment_data_bytes: u64) -> Self {
        Self {
            units: Box::new(GroupBuilder::new(settings)),
            segment_data_bytes,
            is_bytewise: false,
            identity: 0,
            digests: Vec::new(),
            open_data_bytes: 0,
            closing: None,
            turn_data_bytes: segment_data_bytes,
            turn_digests: 0,
            last_key: LastKey::default(),
            segments: Vec::new(),
            fence_bytes: Vec::new(),
            rows: vec![Vec::new(); usize::from(settings.unit_count())],
        }
    }

    /// Keys will come in byte order, so that a fence need be no longer than it takes to tell its segment from the one before.
    pub fn with_bytewise_keys(self) -> Self {
        Self { is_bytewise: true, ..self }
    }

    /// What tells this table from others: units that are read where those of another table lie fail their checksums.
    pub fn with_identity(self, identity: u32) -> Self {
        Self { identity, ..self }
    }

    /// Adds an entry of `entry_bytes` bytes under `user_key`. Keys come in the table's order; versions of one key follow
    /// each other, count once and stay in one segment.
    #[inline]
    pub fn add(&mut self, user_key: &[u8], entry_bytes: u64) {
        let digest = KeyDigest::of(user_key);
        // Digests tell keys apart: units cannot do more, and two keys of one digest, should there ever be any, are found under it both.
        if self.digests.last() != Some(&digest) {
            if self.open_data_bytes >= self.turn_data_bytes || self.digests.len() >= self.turn_digests {
                self.turn(user_key);
            }
            self.digests.push(digest);
        }
        self.open_data_bytes = self.open_data_bytes.saturating_add(entry_bytes);
        self.last_key.set(user_key);
    }

    /// A new key comes where the open segment is full, or worth to be one.
    #[cold]
    #[inline(never)]
    fn turn(&mut self, user_key: &[u8]) {
        if self.digests.is_empty() {
            self.fence_bytes.extend_from_slice(user_key);
            // Entries of 1 KiB are never copied because there are more; memory that smaller tables do not touch costs nothing.
            let most = self.segment_data_bytes / USUAL_ENTRY_BYTES * (LEAST_PART + 1) / LEAST_PART;
            self.digests.reserve(most.min(MAX_SEGMENT_KEYS as u64) as usize);
        } else if let Some(closing) = self.closing.take() {
            self.close_segment(closing.keys, closing.data_bytes);
            self.fence_bytes.extend_from_slice(&closing.next_fence);
        }
        let is_full =
            self.open_data_bytes >= self.segment_data_bytes || self.digests.len() >= MAX_SEGMENT_KEYS;
        if is_full && !self.digests.is_empty() {
            let closing = Closing {
                keys: self.digests.len(),
                data_bytes: std::mem::take(&mut self.open_data_bytes),
                next_fence: self.fence_at(user_key).to_vec(),
            };
            self.turn_data_bytes = self.segment_data_bytes / LEAST_PART;
            self.turn_digests = closing.keys + MAX_SEGMENT_KEYS / LEAST_PART as usize;
            self.closing = Some(closing);
        } else {
            self.turn_data_bytes = self.segment_data_bytes;
            self.turn_digests = MAX_SEGMENT_KEYS;
        }
    }

    /// Closes what is open: as one segment, if what follows the full one is too little.
    fn close_all(&mut self) {
        if let Some(closing) = self.closing.take() {
            let is_little =
                self.open_data_bytes < self.turn_data_bytes && self.digests.len() < self.turn_digests;
            if is_little {
                self.open_data_bytes = self.open_data_bytes.saturating_add(closing.data_bytes);
            } else {
                self.close_segment(closing.keys, closing.data_bytes);
                self.fence_bytes.extend_from_slice(&closing.next_fence);
            }
        }
        if !self.digests.is_empty() {
            self.close_segment(self.digests.len(), self.open_data_bytes);
        }
    }

    /// The table's block; empty if no key was added. Empty as well, so that the table has no filters, if the first keys of
    /// its segments together exceed 4 GiB, which the directory cannot address.
    pub fn finish(mut self) -> Vec<u8> {
        self.close_all();
        let segment_count = u32::try_from(self.segments.len());
        let (Ok(segment_count @ 1..), Ok(_)) = (segment_count, u32::try_from(self.fence_bytes.len())) else {
            return Vec::new();
        };
        let directory = directory::encode(&self.segments, &self.fence_bytes, &self.last_key.get());
        let rows_bytes: usize = self.rows.iter().map(Vec::len).sum();
        let header = BlockHeader {
            block_bytes: (HEADER_BYTES + directory.len() + rows_bytes) as u64,
            directory_bytes: directory.len() as u64,
            segment_count,
            unit_count: self.rows.len() as u8,
            identity: self.identity,
        };
        let mut block = Vec::with_capacity(header.block_bytes as usize);
        block.extend_from_slice(&header.encode());
        block.extend_from_slice(&directory);
        for row in self.rows {
            block.extend_from_slice(&row);
        }
        block
    }

    /// The fence of a segment that begins with `user_key`: in byte order, the shortest beginning of the key that is above the last
    /// key of the segment before.
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
        // Only the end of the last fence can be out of range, and then `finish` gives the block up.
        let fence_end = self.fence_bytes.len() as u32;
        self.segments.push(SegmentEntry { data_bytes, shape: built.shape, fence_end });
        self.digests.drain(..keys);
    }
}

/// A copy of the last key, which is made for every key and hardly ever looked at: the usual lengths are copied without a call.
#[derive(Default)]
struct LastKey {
    length: usize,
    /// Beginning and end, which overlap, of a key of 16 to 32 bytes.
    ends: [[u8; 16]; 2],
    /// Any other key.
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
