//! What the indexes of a database would take with other options, measured on parts of some of its tables.

use std::path::Path;

use serde::Serialize;
use springbloom_rocksdb::Error;
use springbloom_rocksdb::inspect::{self, IndexOptions, TableSummary};
use springbloom_rocksdb::listed_tables::ListedTable;

/// Tables that are measured, and how much of each. What they say of all is off by some percent.
const SAMPLED_TABLES: u64 = 16;
const SAMPLED_BYTES: u64 = 2 << 20;
/// The usual value for a small index, and a block size with which an index is small in any case.
const RESTART_INTERVAL: u32 = 16;
const LARGE_BLOCK_BYTES: u64 = 16 << 10;
/// Of what the index takes now: more does not pay for the compaction that rewrites the tables.
const WORTH_IT: f64 = 0.7;

/// Indexes as they are, and as they could be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Indexes {
    pub(crate) bytes: u64,
    /// With `index_block_restart_interval=16`.
    pub(crate) restart_16_bytes: u64,
    /// With `block_size=16K` as well; not below what the blocks have now.
    pub(crate) large_blocks_bytes: u64,
    /// That were measured.
    pub(crate) tables: u64,
}

impl Indexes {
    /// Whether the option alone makes the index a good part smaller.
    pub(crate) fn can_shrink(&self) -> bool {
        (self.restart_16_bytes as f64) < WORTH_IT * self.bytes as f64
    }
}

/// Tables to measure, each with how often an even step over the bytes of all indexes meets it: the more index, the oftener.
pub(crate) fn sample(tables: &[(ListedTable, TableSummary)]) -> Vec<(usize, u64)> {
    let total: u64 = tables.iter().map(|(_, table)| table.index_bytes).sum();
    let step = total.div_ceil(SAMPLED_TABLES).max(1);
    let (mut sampled, mut begin) = (Vec::new(), 0u64);
    for (at, (_, table)) in tables.iter().enumerate() {
        let end = begin + table.index_bytes;
        // Steps are in the middle of their parts.
        let met = (end + step / 2) / step - (begin + step / 2) / step;
        if met > 0 {
            sampled.push((at, met));
        }
        begin = end;
    }
    sampled
}

/// What the index of a table would take with other options, as parts of what it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ratios {
    restart_16: f64,
    large_blocks: f64,
}

impl Ratios {
    /// Measures a table.
    pub(crate) fn of(path: &Path, table: &TableSummary) -> Result<Self, Error> {
        let block_bytes = block_size(table);
        let options = [block_bytes, block_bytes.max(LARGE_BLOCK_BYTES)]
            .map(|block_bytes| IndexOptions { restart_interval: RESTART_INTERVAL, block_bytes });
        let sizes = inspect::measure_indexes(path, SAMPLED_BYTES, &options)?;
        let ratio = |measured_bytes: u64, measured: u64, of_table: u64| {
            let each = measured_bytes as f64 / measured.max(1) as f64;
            each * of_table as f64 / table.index_bytes.max(1) as f64
        };
        Ok(Self {
            // By blocks, because the blocks stay: the table's option can only be guessed.
            restart_16: ratio(sizes[0].index_bytes, sizes[0].data_blocks, table.data_blocks),
            large_blocks: ratio(sizes[1].index_bytes, sizes[1].entries, table.entries),
        })
    }
}

/// The option with which the table was probably written: blocks come out a little smaller or larger.
fn block_size(table: &TableSummary) -> u64 {
    let mean = table.raw_bytes as f64 / table.data_blocks.max(1) as f64;
    mean.max(1024.0).log2().round().exp2() as u64
}

/// All indexes, by the tables that were measured and how often each counts; `None` if none was.
pub(crate) fn of_all(bytes: u64, measured: &[(Ratios, u64)]) -> Option<Indexes> {
    let weights: u64 = measured.iter().map(|(_, weight)| weight).sum();
    let all = |of: fn(&Ratios) -> f64| {
        let sum: f64 = measured.iter().map(|(ratios, weight)| *weight as f64 * of(ratios)).sum();
        ((bytes as f64 * sum / weights as f64) as u64).min(bytes)
    };
    (weights > 0).then(|| Indexes {
        bytes,
        restart_16_bytes: all(|ratios| ratios.restart_16),
        large_blocks_bytes: all(|ratios| ratios.large_blocks),
        tables: measured.len() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(number: u64, index_bytes: u64) -> (ListedTable, TableSummary) {
        let listed = ListedTable { number, level: 1, ..ListedTable::default() };
        (listed, TableSummary { index_bytes, ..TableSummary::default() })
    }

    #[test]
    fn tables_are_sampled_by_their_index() {
        assert_eq!(sample(&[]), []);
        assert_eq!(sample(&[table(1, 0)]), []);
        assert_eq!(sample(&[table(1, 100)]).iter().map(|(_, weight)| weight).sum::<u64>(), 14);
        let many: Vec<_> = (0..1000).map(|number| table(number, 1000)).collect();
        assert_eq!(sample(&many).len(), 16);
        let uneven = [table(1, 1), table(2, 900), table(3, 99)];
        let sampled = sample(&uneven);
        assert!(sampled.iter().any(|&(at, weight)| at == 1 && weight >= 14), "{sampled:?}");
    }

    #[test]
    fn all_indexes_shrink_as_the_sampled_ones() {
        assert_eq!(of_all(1000, &[]), None);
        let small = Ratios { restart_16: 0.25, large_blocks: 0.1 };
        let same = Ratios { restart_16: 1.0, large_blocks: 1.5 };
        let all = of_all(1000, &[(small, 3), (same, 1)]).unwrap();
        assert_eq!((all.restart_16_bytes, all.large_blocks_bytes, all.tables), (437, 450, 2));
        assert!(all.can_shrink());
        assert!(!of_all(1000, &[(same, 1)]).unwrap().can_shrink());
    }

    #[test]
    fn block_sizes_are_powers_of_two_near_the_mean() {
        for (raw_bytes, data_blocks, expected) in
            [(4240, 1, 4096), (3900, 1, 4096), (160_000, 10, 16384), (0, 0, 1024)]
        {
            let table = TableSummary { raw_bytes, data_blocks, ..TableSummary::default() };
            assert_eq!(block_size(&table), expected);
        }
    }
}
