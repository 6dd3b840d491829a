//! SHaMBa's modular Bloom filters (VLDB'23 PhD workshop, section 3).

use std::path::PathBuf;

use rocksdb::{BlockBasedOptions, Options};

use crate::{InstallError, unsafe_install};

/// Modular Bloom filters: each table has some, of equal sizes, which are read one by one.
#[derive(Clone, Debug)]
pub struct Modular {
    /// Bits per key of all modules together.
    pub bits: f64,
    /// A lookup skips a module whose utility is below its threshold, and those behind it. One for each module.
    pub thresholds: Vec<f64>,
    /// File of the modules of a database.
    pub file: PathBuf,
    /// Whether reads of modules bypass the page cache.
    pub direct_reads: bool,
    /// Memory for modules; `None`: the block cache has them, beside data.
    pub budget_bytes: Option<u64>,
}

/// The modules and thresholds that the paper measures.
pub const SHAMBA_THRESHOLDS: [f64; 2] = [0.02, 0.01];

/// Tables with modular filters. The options must have no statistics of their own, because the filters learn from them.
///
/// # Errors
/// No module, or modules without a cache.
pub fn modular(
    options: &mut Options,
    tables: &BlockBasedOptions,
    modular: &Modular,
) -> Result<(), InstallError> {
    options.set_block_based_table_factory(tables);
    unsafe_install::modular_filters(options, modular)
}
