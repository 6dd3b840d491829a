//! What a store that is known by its tables would read with other settings.

use serde::Serialize;

use super::cache::Reads;
use super::ours;
use super::stock::{self, BLOCK_BYTES, Stock};
use super::store::{IndexEntry, Store};

/// A store, as its tables describe it, and what is looked up. Its column families are taken for alike.
#[derive(Clone, Debug)]
pub struct Described {
    /// All of them.
    pub keys: f64,
    /// Column families, each with a popularity of its own.
    pub families: usize,
    /// Of key and value, as they are in the block cache.
    pub record_bytes: f64,
    /// Sorted runs from the newest on: the share of the keys, and how many tables in all families.
    pub runs: Vec<(f64, f64)>,
    /// Bytes of a block in its indexes.
    pub index: IndexEntry,
    /// Exponent of the popularity of keys; 0: all are alike.
    pub zipf: f64,
    /// Share of the lookups that find nothing.
    pub absent: f64,
}

/// Blocks read per lookup with this memory for block cache, filters and indexes. None where what stays in memory does not fit.
#[derive(Clone, Debug, Serialize)]
pub struct Estimate {
    /// All of it.
    pub memory_bytes_per_key: f64,
    /// Bloom filters of 10 bits and indexes, in partitions that come and go in the block cache.
    pub recommended: Option<f64>,
    /// The same with `index_block_restart_interval=16`.
    pub with_small_index: Option<f64>,
    /// With the best of the settings of RocksDB that are modelled.
    pub best_stock: Option<f64>,
    /// Which it is.
    pub best_stock_is: String,
    /// With `budget=auto`.
    pub springbloom: Option<f64>,
}

impl Described {
    /// What it would read with these memories (bytes for each key).
    pub fn estimates(&self, memories: &[f64]) -> Vec<Estimate> {
        let store = Store::described(self);
        let stock = stock::all(&store, memories);
        let ours = ours::reads(&store, BLOCK_BYTES[0], memories);
        let at = |(at, (&memory, ours)): (usize, (&f64, &Option<Reads>))| {
            let fitting = stock.iter().filter_map(|Stock { name, reads }| Some((reads[at]?, name)));
            let best = fitting.min_by(|(one, _), (other, _)| one.total_cmp(other));
            Estimate {
                memory_bytes_per_key: memory,
                recommended: stock[0].reads[at],
                with_small_index: stock[1].reads[at],
                best_stock: best.map(|(reads, _)| reads),
                best_stock_is: best.map_or_else(String::new, |(_, name)| name.clone()),
                springbloom: ours.map(Reads::all),
            }
        };
        memories.iter().zip(&ours).enumerate().map(at).collect()
    }
}
