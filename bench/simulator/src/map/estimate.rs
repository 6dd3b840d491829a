//! What a store that is known by its tables would read with other settings.

use serde::Serialize;

use super::cache::Reads;
use super::ours;
use super::stock;
use super::store::{Described, Store};

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
        let [ours, _] = ours::reads_of_each(&store, memories);
        let at = |(at, (&memory, ours)): (usize, (&f64, &Option<Reads>))| {
            let best = stock::best(&stock, at);
            Estimate {
                memory_bytes_per_key: memory,
                recommended: stock[0].reads[at],
                with_small_index: stock[1].reads[at],
                best_stock: best.map(|(reads, _)| reads),
                best_stock_is: best.map_or("", |(_, name)| name).to_owned(),
                springbloom: ours.map(Reads::all),
            }
        };
        memories.iter().zip(&ours).enumerate().map(at).collect()
    }
}
