//! LSM trees of column families: every level of a tree spans all of its keys, and every key is in one level.

use std::ops::Range;

use springbloom_filter::{BuiltGroup, KeyDigest, UnitSettings};
use springbloom_workload::hash::unit_interval;

use crate::Lookup;

/// Tables on levels, of segments of equal size. Where there are several families, each has the same levels.
#[derive(Debug)]
pub struct Tree {
    /// Number of segments per level, family after family.
    pub levels: Vec<u32>,
    /// Number of families.
    pub families: u32,
    /// Number of tables before those of each level.
    tables_before: Vec<u32>,
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
    /// Level, counted over all families.
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
        let group = units.build(&digests);
        let tree = Self {
            levels: levels.to_vec(),
            families: 1,
            tables_before: Vec::new(),
            table_segments,
            segment_keys,
            group,
        };
        tree.of_families(1)
    }

    /// The tree of this one family, once for each of this many.
    pub fn of_families(mut self, families: u32) -> Self {
        self.levels = self.levels.repeat(families as usize);
        self.families = families;
        let ends = self.tables().scan(0, |end, tables| {
            *end += tables;
            Some(*end)
        });
        self.tables_before = std::iter::once(0).chain(ends).collect();
        self
    }

    /// The levels of a family.
    pub fn levels_of(&self, family: usize) -> Range<usize> {
        let levels = self.levels.len() / self.families as usize;
        family * levels..(family + 1) * levels
    }

    /// The family of a level, and the level's number in it.
    pub fn family_of(&self, level: usize) -> (usize, usize) {
        let levels = self.levels.len() / self.families as usize;
        (level / levels, level % levels)
    }

    /// Number of keys of one family.
    pub fn family_keys(&self) -> u64 {
        self.keys() / u64::from(self.families)
    }

    /// Number of keys of all families.
    pub fn keys(&self) -> u64 {
        u64::from(self.segments()) * self.segment_keys
    }

    /// Number of segments of all families.
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

    /// The number over all levels of table `nth` of a level.
    pub fn table(&self, level: usize, nth: u32) -> u32 {
        self.tables_before[level] + nth
    }

    /// The table of a segment, counted over all levels, and the segment's number in it.
    pub fn place(&self, level: usize, segment: u32) -> (u32, u32) {
        (self.table(level, segment / self.table_segments), segment % self.table_segments)
    }

    /// The smallest key of a segment.
    pub fn first_key(&self, level: usize, segment: u32) -> u64 {
        let segments = u128::from(self.levels[level]);
        (u128::from(segment) << 64).div_ceil(segments) as u64
    }

    /// The visits of one lookup, from the top until the key is found.
    pub fn visits(&self, lookup: Lookup) -> impl Iterator<Item = Visit> {
        let (key, levels) = (lookup.key, self.levels_of(lookup.family));
        let home = if lookup.is_absent { usize::MAX } else { self.level_of(key, levels.clone()) };
        levels.take_while(move |&level| level <= home).map(move |level| Visit {
            level,
            segment: ((u128::from(key) * u128::from(self.levels[level])) >> 64) as u32,
            is_there: level == home,
        })
    }

    /// The one of these levels that has a key. Larger levels hold more keys.
    fn level_of(&self, key: u64, levels: Range<usize>) -> usize {
        let segments = self.segments() / self.families;
        let mut at = (unit_interval(key ^ 0xABCD_0123) * f64::from(segments)) as u32;
        let deepest = levels.end - 1;
        for level in levels {
            if at < self.levels[level] {
                return level;
            }
            at -= self.levels[level];
        }
        deepest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_family_has_a_tree_of_its_own() {
        let one = || Tree::new(&[2, 20], 4, 100, UnitSettings::default());
        let (alone, tree) = (one(), one().of_families(3));
        assert_eq!(tree.levels, [2, 20, 2, 20, 2, 20]);
        assert_eq!((tree.keys(), tree.family_keys()), (6600, alone.keys()));
        assert_eq!((tree.family_of(3), tree.table(3, 1)), ((1, 1), 8));
        for key in (0..100).map(|n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15)) {
            let visits = |tree: &Tree, family| -> Vec<_> {
                let lookup = Lookup { family, key, is_absent: key % 2 == 0 };
                tree.visits(lookup).map(|visit| (visit.level, visit.segment, visit.is_there)).collect()
            };
            let there = visits(&alone, 0).into_iter().map(|(level, segment, is)| (level + 4, segment, is));
            assert_eq!(visits(&tree, 2), there.collect::<Vec<_>>());
        }
    }
}
