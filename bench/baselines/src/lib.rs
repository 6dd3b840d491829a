//! Stock RocksDB filters, set up so that they can be compared with elastic ones at the same memory. Each function gives
//! options a filter of `bits` per key on average, with the settings in `tables`. [`BlockReads`] counts what lookups read.

#![deny(unsafe_code)]

mod partitioned;
mod unsafe_block_reads;
mod unsafe_install;
mod unsafe_tiered_cache;

use rocksdb::{BlockBasedOptions, Options};
use springbloom_published_policies::{Level, StockFilter, bits_per_level};

pub use partitioned::{one_cache, partitioned, partitioned_in_block_cache};
pub use unsafe_block_reads::BlockReads;
pub use unsafe_install::{InstallError, filter_cache};
pub use unsafe_tiered_cache::TieredCache;

/// Bytes per key of a stock Ribbon filter, as a share of the Bloom filter with its false positive rate. Measured; the reports of a
/// comparison show how many bytes were resident.
const RIBBON_SHARE_OF_BLOOM: f64 = 0.7;

/// The bits per key by which RocksDB makes a filter of `bits` per key: those of the Bloom filter with its false positive rate.
fn bloom_bits(filter: StockFilter, bits: f64) -> f64 {
    match filter {
        StockFilter::Bloom => bits,
        StockFilter::Ribbon => bits / RIBBON_SHARE_OF_BLOOM,
    }
}

/// Full filters of one size, all in memory.
pub fn full(options: &mut Options, mut tables: BlockBasedOptions, filter: StockFilter, bits: f64) {
    set_filter(&mut tables, filter, bits);
    options.set_block_based_table_factory(&tables);
}

fn set_filter(tables: &mut BlockBasedOptions, filter: StockFilter, bits: f64) {
    let bloom_bits = bloom_bits(filter, bits);
    match filter {
        StockFilter::Bloom => tables.set_bloom_filter(bloom_bits, false),
        StockFilter::Ribbon => tables.set_ribbon_filter(bloom_bits),
    }
}

/// Full filters whose bits per key follow from their level in a tree of `levels`, as Monkey (Dayan, Athanassoulis,
/// Idreos, SIGMOD'17) allots them, all in memory.
pub fn monkey(
    options: &mut Options,
    tables: &BlockBasedOptions,
    filter: StockFilter,
    levels: &[Level],
    bits: f64,
) -> Result<(), InstallError> {
    options.set_block_based_table_factory(tables);
    let bits = bits_per_level(levels, bits, filter);
    let bloom_bits: Vec<f64> = bits.into_iter().map(|bits| bloom_bits(filter, bits)).collect();
    unsafe_install::level_filters(options, filter, &bloom_bits)
}
