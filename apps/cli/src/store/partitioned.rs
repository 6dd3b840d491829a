//! Partitioned filters at the memory they are compared at.
//!
//! RocksDB keeps filter partitions in the block cache, and with them, inseparably, the partitions of the index and the
//! data blocks. Every other configuration has its whole index in memory beside its filters and caches no data. An ordinary
//! cache cannot be compared with that: as large as the budget it is full of index and data blocks, as large as budget
//! and indexes together it lets filters take the room of indexes. So the cache here gives its capacity, the budget, to filters alone,
//! keeps index blocks free of charge and does not keep data (`springbloom_rocksdb::stock::filter_cache`).
//!
//! Else tuned as RocksDB's documentation advises: partitions of 4 KiB, the top level of filters pinned.

use rocksdb::{BlockBasedIndexType, BlockBasedOptions, Options};

const METADATA_BLOCK_BYTES: usize = 4096;

/// Gives `options` filters of `bits` per key beside the settings in `tables`, `budget_bytes` of which stay in memory.
pub(crate) fn install(
    options: &mut Options,
    mut tables: BlockBasedOptions,
    bits: f64,
    budget_bytes: u64,
) -> Result<(), springbloom_rocksdb::Error> {
    tables.set_bloom_filter(bits, false);
    tables.set_partition_filters(true);
    // Without it RocksDB silently builds full filters.
    tables.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
    tables.set_metadata_block_size(METADATA_BLOCK_BYTES);
    tables.set_pin_top_level_index_and_filter(true);
    options.set_block_based_table_factory(&tables);
    springbloom_rocksdb::stock::filter_cache(options, budget_bytes)
}
