//! Partitioned filters, tuned so that the memory they are compared at is theirs.
//!
//! RocksDB keeps filter partitions in the block cache, and with them, inseparably, the partitions of the index and the
//! data blocks. Every other configuration has its index in memory free of charge and caches no data, so here:
//!
//! - the capacity is the budget plus the size of all indexes;
//! - an index partition is as large as a table's whole index. It is then needed by every read of that table, stays at the
//!   head of the LRU list, and what is left for filters is the budget;
//! - filter partitions are nevertheless cut at 4 KiB (RocksDB's own default): `metadata_block_size` sets the size of both,
//!   and `block_size_deviation` shrinks that of filters alone;
//! - `block_size_deviation` would also change where data blocks are cut, so `block_size` is moved such that they hold
//!   as many entries as elsewhere;
//! - everything but data is high priority, and all of the cache is a high-priority pool: data blocks fill only what is
//!   free and never displace a filter. One shard, so that no shard is short of room for its indexes.

use crate::store::options::BLOCK_BYTES;

/// The percentage that RocksDB takes off `metadata_block_size` for filter partitions.
const DEVIATION_PERCENT: u64 = 99;
/// RocksDB's default of that percentage, which the other configurations have.
const DEFAULT_DEVIATION_PERCENT: u64 = 10;
const FILTER_PARTITION_BYTES: u64 = 4096;

/// Table options, in the form of RocksDB's option strings, for filters of `bits` per key, entries of about `entry_bytes`
/// and a cache of `cache_bytes`.
pub(crate) fn table_options(bits: f64, entry_bytes: u64, cache_bytes: u64) -> String {
    let metadata_block_bytes = FILTER_PARTITION_BYTES * 100 / (100 - DEVIATION_PERCENT);
    let block_bytes = block_bytes_for(entries_per_block(entry_bytes), entry_bytes);
    format!(
        "block_based_table_factory={{\
           block_size={block_bytes};block_size_deviation={DEVIATION_PERCENT};\
           filter_policy=bloomfilter:{bits}:false;partition_filters=true;index_type=kTwoLevelIndexSearch;\
           metadata_block_size={metadata_block_bytes};\
           cache_index_and_filter_blocks=true;cache_index_and_filter_blocks_with_high_priority=true;\
           pin_top_level_index_and_filter=true;no_block_cache=false;\
           block_cache={{capacity={cache_bytes};num_shard_bits=0;high_pri_pool_ratio=1.0}}}}"
    )
}

/// Entries in a data block of the default size: RocksDB closes it once it is full, or nearly full and without room for one
/// more.
fn entries_per_block(entry_bytes: u64) -> u64 {
    let nearly_full = BLOCK_BYTES * (100 - DEFAULT_DEVIATION_PERCENT) / 100;
    let mut entries = 1;
    while entries * entry_bytes < BLOCK_BYTES
        && !((entries + 1) * entry_bytes > BLOCK_BYTES && entries * entry_bytes > nearly_full)
    {
        entries += 1;
    }
    entries
}

/// The block size with which a deviation of nearly 100% closes blocks at `entries`: room for them and half of another.
fn block_bytes_for(entries: u64, entry_bytes: u64) -> u64 {
    entries * entry_bytes + entry_bytes / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_as_many_entries_as_with_default_options() {
        // 3 entries of 1,035 B fill 76% of a block, so a fourth is added, which fills it.
        assert_eq!(entries_per_block(1_035), 4);
        // 4 of 1,000 B fill 98% and leave no room.
        assert_eq!(entries_per_block(1_000), 4);
        assert_eq!(entries_per_block(5_000), 1);
        assert_eq!(entries_per_block(100), 40);
        for entry_bytes in [50, 235, 1_035, 5_000] {
            let (entries, block) = (
                entries_per_block(entry_bytes),
                block_bytes_for(entries_per_block(entry_bytes), entry_bytes),
            );
            assert!(entries * entry_bytes <= block && (entries + 1) * entry_bytes > block, "{entry_bytes}");
        }
    }
}
