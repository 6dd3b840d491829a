//! Builds the block of one table from its keys in order.

use springbloom_filter::{KeyDigest, UnitSettings};

use crate::checksum::{CHECKSUM_BYTES, Covers, checksum};
use crate::directory::{self, SegmentEntry};
use crate::{BlockHeader, HEADER_BYTES};

/// Most keys of a segment, whatever its data bytes: bounds the memory of the open segment (16 bytes a key) and of a unit.
pub const MAX_SEGMENT_KEYS: usize = 1 << 20;

/// Collects the keys of one table and builds its filter block.
///
/// Memory: the digests of the open segment (at most [`MAX_SEGMENT_KEYS`]), the units built so far, the fences.
pub struct BlockWriter {
    settings: UnitSettings,
    segment_data_bytes: u64,
    is_bytewise: bool,
    identity: u32,
    /// The open segment.
    digests: Vec<KeyDigest>,
    open_data_bytes: u64,
    last_key: Vec<u8>,
    /// Closed segments; the fence of the open one is already in `fence_bytes`.
    segments: Vec<SegmentEntry>,
    fence_bytes: Vec<u8>,
    /// Stored form of unit `u` of all closed segments.
    rows: Vec<Vec<u8>>,
}

impl BlockWriter {
    /// A segment closes at the first new key after it has reached `segment_data_bytes` of entries (8 MiB is a good start).
    pub fn new(settings: UnitSettings, segment_data_bytes: u64) -> Self {
        Self {
            settings,
            segment_data_bytes,
            is_bytewise: false,
            identity: 0,
            digests: Vec::new(),
            open_data_bytes: 0,
            last_key: Vec::new(),
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
    pub fn add(&mut self, user_key: &[u8], entry_bytes: u64) {
        let digest = KeyDigest::of(user_key);
        // Digests first: they tell nearly all keys apart without a look at bytes.
        if self.digests.last() == Some(&digest) && self.last_key == user_key {
            self.open_data_bytes = self.open_data_bytes.saturating_add(entry_bytes);
            return;
        }
        let open = !self.digests.is_empty();
        let full = self.open_data_bytes >= self.segment_data_bytes || self.digests.len() >= MAX_SEGMENT_KEYS;
        if open && full {
            self.close_segment();
        }
        if self.digests.is_empty() {
            self.fence_bytes.extend_from_slice(self.fence_at(user_key));
        }
        self.digests.push(digest);
        self.open_data_bytes = self.open_data_bytes.saturating_add(entry_bytes);
        self.last_key.clear();
        self.last_key.extend_from_slice(user_key);
    }

    /// The table's block; empty if no key was added. Empty as well, so that the table has no filters, if the first keys of
    /// its segments together exceed 4 GiB, which the directory cannot address.
    pub fn finish(mut self) -> Vec<u8> {
        if !self.digests.is_empty() {
            self.close_segment();
        }
        let segment_count = u32::try_from(self.segments.len());
        let (Ok(segment_count @ 1..), Ok(_)) = (segment_count, u32::try_from(self.fence_bytes.len())) else {
            return Vec::new();
        };
        let directory = directory::encode(&self.segments, &self.fence_bytes, &self.last_key);
        let rows_bytes: usize = self.rows.iter().map(Vec::len).sum();
        let header = BlockHeader {
            block_bytes: (HEADER_BYTES + directory.len() + rows_bytes) as u64,
            directory_bytes: directory.len() as u64,
            segment_count,
            unit_count: self.settings.unit_count(),
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
        if !self.is_bytewise || self.segments.is_empty() {
            return user_key;
        }
        let common = self.last_key.iter().zip(user_key).take_while(|(a, b)| a == b).count();
        &user_key[..user_key.len().min(common + 1)]
    }

    fn close_segment(&mut self) {
        let built = self.settings.build(&self.digests);
        let (identity, segment) = (self.identity, self.segments.len() as u32);
        for (row, (unit, bytes)) in self.rows.iter_mut().zip((0..).zip(&built.units)) {
            row.reserve(bytes.len() + CHECKSUM_BYTES);
            row.extend_from_slice(bytes);
            let covers = Covers::Unit { identity, segment, unit };
            row.extend_from_slice(&checksum(covers, bytes).to_le_bytes());
        }
        // Only the end of the last fence can be out of range, and then `finish` gives the block up.
        let fence_end = self.fence_bytes.len() as u32;
        self.segments.push(SegmentEntry { data_bytes: self.open_data_bytes, shape: built.shape, fence_end });
        self.digests.clear();
        self.open_data_bytes = 0;
    }
}
