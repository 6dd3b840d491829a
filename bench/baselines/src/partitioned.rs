//! Partitioned filters at the memory they are compared at.
//!
//! RocksDB keeps filter partitions in the block cache, together with the partitions of the index and with data blocks.
//! Every other configuration has its whole index in memory with its filters and caches no data. An ordinary cache
//! cannot be compared with that: a cache of the budget's size is full of index and data blocks, and a cache of the size of
//! budget and indexes together lets filters take the room of indexes. So the cache here spends its capacity, the budget,
//! on filters alone, keeps index blocks free of charge and does not keep data ([`filter_cache`]).
//!
//! The other settings follow RocksDB's documentation: partitions of 4 KiB, the top level of filters pinned.

use rocksdb::{BlockBasedIndexType, BlockBasedOptions, BlockBasedTablePinningTier, Options};
use springbloom_published_policies::StockFilter;

use crate::{InstallError, filter_cache, set_filter};

const METADATA_BLOCK_BYTES: usize = 4096;

/// Partitioned filters, of which `budget_bytes` stay in memory.
pub fn partitioned(
    options: &mut Options,
    mut tables: BlockBasedOptions,
    filter: StockFilter,
    bits: f64,
    budget_bytes: u64,
) -> Result<(), InstallError> {
    partitioned_in_block_cache(options, &mut tables, filter, bits);
    filter_cache(options, budget_bytes)
}

/// Partitioned filters in the block cache of `tables`, if that caches filters.
pub fn partitioned_in_block_cache(
    options: &mut Options,
    tables: &mut BlockBasedOptions,
    filter: StockFilter,
    bits: f64,
) {
    set_filter(tables, filter, bits);
    tables.set_partition_filters(true);
    // Without it RocksDB silently builds full filters.
    partition_indexes(tables);
    options.set_block_based_table_factory(tables);
}

/// One block cache pays for data, indexes and filters, set up as RocksDB recommends: indexes in partitions, metadata with high priority.
/// Filters and indexes that are not in partitions stay in it.
pub fn one_cache(tables: &mut BlockBasedOptions) {
    tables.set_cache_index_and_filter_blocks(true);
    tables.set_cache_index_and_filter_blocks_with_high_priority(true);
    tables.set_optimize_filters_for_memory(true);
    tables.set_unpartitioned_pinning_tier(BlockBasedTablePinningTier::All);
    partition_indexes(tables);
}

/// Indexes in partitions, of which the top level is pinned where indexes are cached.
fn partition_indexes(tables: &mut BlockBasedOptions) {
    tables.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
    tables.set_metadata_block_size(METADATA_BLOCK_BYTES);
    tables.set_pin_top_level_index_and_filter(true);
}
