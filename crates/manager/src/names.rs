//! Names of tables, column families and segments.

/// Identity of one immutable sorted file: the same whenever the file is opened, different for any other file of the
/// process (a good hash will do: what is registered again under it must have the same segments, too). State that is worth keeping hangs on
/// it, not on a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u64);

/// A column family of one database: hotness is inherited only inside one scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScopeId(pub u64);

/// A segment of a known table: the table's place among the known ones and the segment's number in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SegmentRef {
    /// The table's place.
    pub table: u32,
    /// The segment's number in it.
    pub segment: u32,
}

impl SegmentRef {
    /// No segment: the end of a list.
    pub const NONE: SegmentRef = SegmentRef { table: u32::MAX, segment: u32::MAX };

    /// The first of all.
    pub const FIRST: SegmentRef = SegmentRef { table: 0, segment: 0 };

    /// Eight bits that are spread evenly over the segments of any table and stay with a segment.
    pub fn spread(self) -> u8 {
        let mixed =
            ((u64::from(self.table) << 32) | u64::from(self.segment)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 56) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_is_even_over_small_tables() {
        let below_half = (0..1000u32)
            .flat_map(|table| (0..4).map(move |segment| SegmentRef { table, segment }))
            .filter(|segment| segment.spread() < 128)
            .count();
        assert!((1780..2220).contains(&below_half), "{below_half} of 4000"); // 7 standard deviations
    }
}
