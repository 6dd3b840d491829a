//! A row of the map: reads of a shape, a size of records and a popularity at all memories.

use serde::Serialize;

use super::cache::Reads;
use super::cells::{MEMORY, Popularity, Shape};
use super::store::Store;
use super::{ours, stock};

/// One row of the map: all memories.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub(super) shape: &'static str,
    pub(super) record_bytes: u32,
    pub(super) popularity: &'static str,
    /// Reads per lookup at each memory; none where nothing fits.
    pub(super) recommended: Vec<Option<f64>>,
    pub(super) best_stock: Vec<Option<f64>>,
    pub(super) springbloom: Vec<Option<f64>>,
    /// With the best of two block sizes.
    pub(super) springbloom_by_hand: Vec<Option<f64>>,
    pub(super) best_stock_is: Vec<String>,
}

/// A cell is a gain up to this ratio to the best stock reads, and a loss from the other on.
pub(super) const GAIN: f64 = 0.8;
pub(super) const LOSS: f64 = 1.03;
pub(super) const EVEN: f64 = 0.97;
/// Fewer reads of both are no reads: a lookup in a thousand.
const READS_MIN: f64 = 0.001;

impl Row {
    pub(super) fn of(shape: Shape, record_bytes: u32, popularity: Popularity, table_bytes: f64) -> Self {
        let store = Store::new(shape, popularity, f64::from(record_bytes), table_bytes);
        let stock = stock::all(&store, &MEMORY);
        let rounded = |reads: Option<f64>| reads.map(|reads| (reads * 1e4).round() / 1e4);
        let best = |memory: usize| stock::best(&stock, memory);
        let memories = || 0..MEMORY.len();
        let all = |reads: Option<Reads>| rounded(reads.map(Reads::all));
        let [chosen, best_of_ours] = ours::reads_of_each(&store, &MEMORY);
        Row {
            shape: shape.name(),
            record_bytes,
            popularity: popularity.name(),
            recommended: stock[0].reads.iter().copied().map(rounded).collect(),
            best_stock: memories().map(|memory| rounded(best(memory).map(|(reads, _)| reads))).collect(),
            springbloom_by_hand: best_of_ours.into_iter().map(all).collect(),
            springbloom: chosen.into_iter().map(all).collect(),
            best_stock_is: memories()
                .map(|memory| best(memory).map_or("", |(_, name)| name).to_owned())
                .collect(),
        }
    }

    /// Ours to the best stock reads.
    pub(super) fn ratio(&self, memory: usize) -> Option<f64> {
        Self::to(self.springbloom[memory]?, self.best_stock[memory]?)
    }

    /// The same of ours with the best settings.
    pub(super) fn ratio_by_hand(&self, memory: usize) -> Option<f64> {
        Self::to(self.springbloom_by_hand[memory]?, self.best_stock[memory]?)
    }

    fn to(ours: f64, best: f64) -> Option<f64> {
        Some(if ours.max(best) < READS_MIN { 1.0 } else { ours / best.max(READS_MIN / 10.0) })
    }
}
