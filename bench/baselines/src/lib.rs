//! Stock RocksDB filters, set up so that they can be compared with elastic ones at the same memory. Each function gives
//! options a filter of `bits` per key on average, beside the settings in `tables`.

#![deny(unsafe_code)]

mod level_bits;
mod partitioned;
mod unsafe_install;

use rocksdb::{BlockBasedOptions, Options};

pub use level_bits::Level;
pub use partitioned::partitioned;
pub use unsafe_install::{InstallError, filter_cache};

/// Bytes per key of a stock Ribbon filter, as a share of the Bloom filter with its false positive rate, by which RocksDB
/// wants it named. Measured; the reports of a comparison show how many bytes were resident.
const RIBBON_SHARE_OF_BLOOM: f64 = 0.7;

/// Full Bloom filters, all in memory.
pub fn bloom(options: &mut Options, mut tables: BlockBasedOptions, bits: f64) {
    tables.set_bloom_filter(bits, false);
    options.set_block_based_table_factory(&tables);
}

/// Full Ribbon filters, all in memory.
pub fn ribbon(options: &mut Options, mut tables: BlockBasedOptions, bits: f64) {
    tables.set_ribbon_filter(bits / RIBBON_SHARE_OF_BLOOM);
    options.set_block_based_table_factory(&tables);
}

/// Full Bloom filters whose bits per key follow from their level in a tree of `levels`, as Monkey (Dayan, Athanassoulis,
/// Idreos, SIGMOD'17) allots them, all in memory.
///
/// # Errors
/// A tree without levels.
pub fn monkey(
    options: &mut Options,
    tables: &BlockBasedOptions,
    levels: &[Level],
    bits: f64,
) -> Result<(), InstallError> {
    options.set_block_based_table_factory(tables);
    unsafe_install::level_bloom(options, &level_bits::bits_per_level(levels, bits))
}
