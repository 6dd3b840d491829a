//! Stock RocksDB filters, set up so that they can be compared with elastic ones at the same memory. Each function gives
//! options a filter of `bits` per key on average, beside the settings in `tables`. [`BlockReads`] counts what lookups read,
//! and [`set_options`] changes options of many column families.

#![deny(unsafe_code)]

mod partitioned;
mod stock_filter;
mod unsafe_block_reads;
mod unsafe_install;
mod unsafe_set_options;

use rocksdb::{BlockBasedOptions, Options};
use springbloom_published_policies::{Level, bits_per_level};

pub use partitioned::{partition_indexes, partitioned, partitioned_in_block_cache};
pub use stock_filter::StockFilter;
pub use unsafe_block_reads::BlockReads;
pub use unsafe_install::{InstallError, filter_cache};
pub use unsafe_set_options::set_options;

/// Full filters of one size, all in memory.
pub fn full(options: &mut Options, mut tables: BlockBasedOptions, filter: StockFilter, bits: f64) {
    let bloom_bits = filter.bloom_bits(bits);
    match filter {
        StockFilter::Bloom => tables.set_bloom_filter(bloom_bits, false),
        StockFilter::Ribbon => tables.set_ribbon_filter(bloom_bits),
    }
    options.set_block_based_table_factory(&tables);
}

/// Full filters whose bits per key follow from their level in a tree of `levels`, as Monkey (Dayan, Athanassoulis,
/// Idreos, SIGMOD'17) allots them, all in memory.
///
/// # Errors
/// A tree without levels.
pub fn monkey(
    options: &mut Options,
    tables: &BlockBasedOptions,
    filter: StockFilter,
    levels: &[Level],
    bits: f64,
) -> Result<(), InstallError> {
    options.set_block_based_table_factory(tables);
    let bits = bits_per_level(levels, bits, filter.rate_exponent());
    let bloom_bits: Vec<f64> = bits.into_iter().map(|bits| filter.bloom_bits(bits)).collect();
    unsafe_install::level_filters(options, filter, &bloom_bits)
}
