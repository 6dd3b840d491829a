//! An LSM tree as lookups see it: every level spans all keys, and every key lives in one level.

use springbloom_filter::{BuiltGroup, KeyDigest, UnitSettings};
use springbloom_testkit::spread::unit_interval;

use crate::Lookup;

/// Tables on levels, of segments of equal size.
#[derive(Debug)]
pub struct Tree {
    /// Segments by level.
    pub levels: Vec<u32>,
    /// Segments of a table; the last table of a level may have fewer.
    pub table_segments: u32,
    /// Keys of a segment.
    pub segment_keys: u64,
    /// Filter units of a segment: those of one segment stand for all.
    pub group: BuiltGroup,
}

/// What a lookup meets on its way down.
#[derive(Clone, Copy, Debug)]
pub struct Visit {
    /// Level of the tree.
    pub level: usize,
    /// Segment of the level.
    pub segment: u32,
    /// Whether the key is there.
    pub is_there: bool,
}

impl Tree {
    /// Tables of `table_segments` segments of `segment_keys` keys.
    pub fn new(levels: &[u32], table_segments: u32, segment_keys: u64, units: UnitSettings) -> Self {
        let digests: Vec<_> = (0..segment_keys).map(|n| KeyDigest::of(&n.to_le_bytes())).collect();
        Self { levels: levels.to_vec(), table_segments, segment_keys, group: units.build(&digests) }
    }

    /// Keys of the whole tree.
    pub fn keys(&self) -> u64 {
        u64::from(self.segments()) * self.segment_keys
    }

    /// Segments of the whole tree.
    pub fn segments(&self) -> u32 {
        self.levels.iter().sum()
    }

    /// Tables of each level.
    pub fn tables(&self) -> impl Iterator<Item = u32> {
        self.levels.iter().map(|segments| segments.div_ceil(self.table_segments))
    }

    /// Segments of each table of a level, in the order of keys.
    pub fn segments_by_table(&self, level: usize) -> impl Iterator<Item = u32> {
        let segments = self.levels[level];
        let starts = (0..segments).step_by(self.table_segments as usize);
        starts.map(move |first| (segments - first).min(self.table_segments))
    }

    /// The table of a segment, among those of all levels, and the segment's number there.
    pub fn place(&self, level: usize, segment: u32) -> (u32, u32) {
        let before: u32 = self.tables().take(level).sum();
        (before + segment / self.table_segments, segment % self.table_segments)
    }

    /// The least key of a segment.
    pub fn first_key(&self, level: usize, segment: u32) -> u64 {
        let segments = u128::from(self.levels[level]);
        (u128::from(segment) << 64).div_ceil(segments) as u64
    }

    /// Visits of one lookup, from the top until the key is found.
    pub fn visits(&self, lookup: Lookup) -> impl Iterator<Item = Visit> {
        let key = lookup.key();
        let home = if lookup.is_absent { usize::MAX } else { self.level_of(key) };
        let levels = self.levels.iter().enumerate().take_while(move |&(level, _)| level <= home);
        levels.map(move |(level, &segments)| Visit {
            level,
            segment: ((u128::from(key) * u128::from(segments)) >> 64) as u32,
            is_there: level == home,
        })
    }

    /// Level that holds a key; the larger ones hold more of them.
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
