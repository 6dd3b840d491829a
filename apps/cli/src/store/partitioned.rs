//! Partitioned filters at the memory they are compared at.
//!
//! RocksDB keeps filter partitions in the block cache, and with them, inseparably, the partitions of the index and the
//! data blocks. Every other configuration has its whole index in memory beside its filters and caches no data. So the
//! cache here is as large as both together: the budget plus the size of all indexes. How much of it goes to filters is
//! for RocksDB's LRU lists to decide; reports show it.
//!
//! Tuned as its documentation advises: two-level index, metadata blocks of 4 KiB, top-level blocks pinned. Everything but
//! data is high priority, and all of the cache is a high-priority pool: data blocks fill only what is free and displace
//! neither index nor filter. One shard, so that no shard of a small cache is short of room.

use crate::store::shape::Shape;

/// What the block cache adds to a block: its handle and the block's own bookkeeping.
const CACHED_BLOCK_OVERHEAD_BYTES: u64 = 512;
const METADATA_BLOCK_BYTES: u64 = 4096;

/// Table options, in the form of RocksDB's option strings, for filters of `bits` per key on a tree of `shape`, with
/// `budget_bytes` for filters and `data_cache_bytes` for data.
pub(crate) fn table_options(bits: f64, shape: &Shape, budget_bytes: u64, data_cache_bytes: u64) -> String {
    let tables: u64 = shape.levels.iter().map(|level| level.files).sum();
    let index_partitions = shape.index_bytes / METADATA_BLOCK_BYTES + tables;
    let index_bytes = shape.index_bytes + (index_partitions + tables) * CACHED_BLOCK_OVERHEAD_BYTES;
    let cache_bytes = budget_bytes + index_bytes + data_cache_bytes;
    format!(
        "block_based_table_factory={{\
           filter_policy=bloomfilter:{bits}:false;partition_filters=true;index_type=kTwoLevelIndexSearch;\
           metadata_block_size={METADATA_BLOCK_BYTES};\
           cache_index_and_filter_blocks=true;cache_index_and_filter_blocks_with_high_priority=true;\
           pin_top_level_index_and_filter=true;no_block_cache=false;\
           block_cache={{capacity={cache_bytes};num_shard_bits=0;high_pri_pool_ratio=1.0}}}}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::shape::LevelShape;

    #[test]
    fn the_cache_holds_the_budget_and_all_indexes() {
        let levels = vec![LevelShape { files: 10, entries: 1_000, bytes: 1 << 20 }];
        let shape = Shape { levels, index_bytes: 40_960, ..Shape::default() };
        let text = table_options(10.0, &shape, 1_000_000, 0);
        let capacity = 1_000_000 + 40_960 + (10 + 10 + 10) * 512;
        assert!(text.contains(&format!("capacity={capacity};")), "{text}");
        assert!(text.contains("bloomfilter:10:false"), "{text}");
    }
}
