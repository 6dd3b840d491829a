//! Stock RocksDB filters that the Rust crate has no call for, to compare with.

use crate::{Error, ffi};

/// Gives tables of level `i` a stock Bloom filter of `bits_per_key[min(i, last)]` bits per key: Monkey (SIGMOD'17) on stock
/// RocksDB. Under 0.5 bits means no filter. Errors on an empty list, or options of another table format.
pub fn level_bloom(options: &mut rocksdb::Options, bits_per_key: &[f64]) -> Result<(), Error> {
    ffi::install_level_bloom(options, bits_per_key).map_err(Error::Install)
}

/// Keeps stock filters, partitioned ones above all, in a block cache of `capacity_bytes` of their own: index blocks are kept
/// free of charge, as table readers keep them, and data blocks are not kept. So a capped filter cache is compared at exactly
/// its capacity. Index blocks stay until the cache goes with its last database: for comparisons, not for service. Errors
/// on options of another table format.
pub fn filter_cache(options: &mut rocksdb::Options, capacity_bytes: u64) -> Result<(), Error> {
    ffi::install_filter_cache(options, capacity_bytes).map_err(Error::Install)
}
