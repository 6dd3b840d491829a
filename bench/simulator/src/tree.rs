//! An LSM tree: every level spans all keys, and every key is in one level.

use springbloom_filter::{BuiltGroup, KeyDigest, UnitSettings};
use springbloom_workload::hash::unit_interval;

use crate::Lookup;

/// Tables on levels, of segments of equal size.
#[derive(Debug)]
pub struct Tree {
    /// Number of segments per level.
    pub levels: Vec<u32>,
    /// Segments of a table; the last table of a level may have fewer.
    pub table_segments: u32,
    /// Keys of a segment.
    pub segment_keys: u64,
    /// Filter units of a segment, which serve all segments.
    pub group: BuiltGroup,
}

/// One visit of a lookup.
#[derive(Clone, Copy, Debug)]
pub struct Visit {
    /// Level of the tree.
    pub level: usize,
    /// Segment of the level.
    pub segment: u32,
    /// Whether the segment holds the key.
    pub is_there: bool,
}

impl Tree {
    /// Tables of `table_segments` segments of `segment_keys` keys.
    pub fn new(levels: &[u32], table_segments: u32, segment_keys: u64, units: UnitSettings) -> Self {
        let digests: Vec<_> = (0..segment_keys).map(|n| KeyDigest::of(&n.to_le_bytes())).collect();
        Self { levels: levels.to_vec(), table_segments, segment_keys, group: units.build(&digests) }
    }

    /// Number of keys of the tree.
    pub fn keys(&self) -> u64 {
        u64::from(self.segments()) * self.segment_keys
    }

    /// Number of segments of the tree.
    pub fn segments(&self) -> u32 {
        self.levels.iter().sum()
    }

    /// Number of tables of each level.
    pub fn tables(&self) -> impl Iterator<Item = u32> {
        self.levels.iter().map(|segments| segments.div_ceil(self.table_segments))
    }

    /// Number of segments of each table of a level, in key order.
    pub fn segments_by_table(&self, level: usize) -> impl Iterator<Item = u32> {
        let segments = self.levels[level];
        let starts = (0..segments).step_by(self.table_segments as usize);
        starts.map(move |first| (segments - first).min(self.table_segments))
    }

    /// The table of a segment, counted over all levels, and the segment's number in it.
    pub fn place(&self, level: usize, segment: u32) -> (u32, u32) {
        let before: u32 = self.tables().take(level).sum();
        (before + segment / self.table_segments, segment % self.table_segments)
    }

    /// The smallest key of a segment.
    pub fn first_key(&self, level: usize, segment: u32) -> u64 {
        let segments = u128::from(self.levels[level]);
        (u128::from(segment) << 64).div_ceil(segments) as u64
    }

    /// The visits of one lookup, from the top until the key is found.
    pub fn visits(&self, lookup: Lookup) -> impl Iterator<Item = Visit> {
        let key = lookup.key;
        let home = if lookup.is_absent { usize::MAX } else { self.level_of(key) };
        let levels = self.levels.iter().enumerate().take_while(move |&(level, _)| level <= home);
        levels.map(move |(level, &segments)| Visit {
            level,
            segment: ((u128::from(key) * u128::from(segments)) >> 64) as u32,
            is_there: level == home,
        })
    }

    /// The level of a key. Larger levels hold more keys.
    fn level_of(&self, key: u64) -> usize {
        let mut at = (unit_interval(key ^ 0xABCD_0123) * f64::from(self.segments())) as u32;
        for (level, &segments) in self.levels.iter().enumerate() {
            if at < segments {
                return level;
            }
            at -= segments;
        }
        self.levels.len() - 1
    }
}
