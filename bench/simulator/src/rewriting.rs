//! Tables that compaction rewrites while lookups run.

use crate::Tree;

/// Tables of a level that one compaction rewrites: a table from above overlaps this many where levels grow tenfold.
const TABLES_AT_ONCE: u32 = 10;

/// Each flush leads to a compaction into each level, which takes in as much as the flush wrote, whatever the level's size. So levels of ten
/// tables and less are rewritten each time, and larger ones piece by piece in the order of their keys.
#[derive(Clone, Copy, Debug)]
pub struct Rewriting {
    /// Lookups in which each table of the largest level is rewritten once.
    pub cycle_lookups: u64,
}

impl Rewriting {
    /// Level and number within the level of each table that is rewritten before lookup `number`.
    pub fn before(self, tree: &Tree, number: u64) -> Vec<(usize, u32)> {
        let most = tree.tables().max().unwrap_or(1);
        let period = (self.cycle_lookups * u64::from(TABLES_AT_ONCE) / u64::from(most)).max(1);
        if number == 0 || !number.is_multiple_of(period) {
            return Vec::new();
        }
        let compaction = number / period;
        let pieces = tree.tables().enumerate().flat_map(|(level, tables)| {
            let first = compaction * u64::from(TABLES_AT_ONCE);
            (0..tables.min(TABLES_AT_ONCE))
                .map(move |nth| (level, ((first + u64::from(nth)) % u64::from(tables)) as u32))
        });
        pieces.collect()
    }
}
