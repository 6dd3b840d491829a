//! How much of the budget the negative cache gets: a 32nd while a byte of its entries saves more reads than it would as units, and else
//! what it takes to notice when that is so again.
//!
//! A fixed share would waste 7% more reads where no key is hot (decision 0014).

use crate::lookup::negative_cache::{CHUNK_BYTES, NegativeCache};

/// Share of the budget.
const SHARE: usize = 32;
/// Share where the cache saves nothing, kept to notice when it becomes useful again.
const IDLE_SHARE: usize = 256;
/// A budget below this has no share to give.
pub(crate) const BUDGET_MIN_BYTES: usize = 16 * CHUNK_BYTES;
/// Most chunks that there are before absences fill them, and that are kept where they save nothing: 257 KiB.
pub(super) const INITIAL_CHUNKS: usize = 64;
/// Most chunks, in a budget of any size: some twenty million absences. The list of chunks is copied when it grows.
const CHUNKS_MAX: usize = 1 << 16;

/// Visits between two looks at what was measured.
const WINDOW_VISITS: u64 = 1 << 16;
/// The mean entry must be worth so many times what a byte is worth in units, or else the cache is idle: the last entries, which a smaller
/// cache would lack, are worth less than the mean. By simulation (decision 0014).
const WORTH_MIN: f64 = 2.0;
/// An idle cache keeps the entries that are worth most: it is in use again where these are worth so many times more.
const WORTH_AGAIN: f64 = 8.0;

/// Decides the number of chunks.
#[derive(Debug, Default)]
pub(super) struct CacheSize {
    /// Visits ever made when it was looked at last.
    looked_at: u64,
    /// Reads ever saved then.
    saved_before: u64,
    /// Reads saved by a byte of entries per visit, lately.
    worth: f64,
    is_idle: bool,
}

/// What the manager counted when the size of the cache is decided.
pub(super) struct Reading {
    /// Visits ever made.
    pub(super) visits: u64,
    /// Reads that the cache ever saved.
    pub(super) saved: u64,
    /// Reads saved per visit and byte by units at the margin, if the policy tells.
    pub(super) price: Option<f64>,
}

/// Chunks of a share of a budget, at most so many.
fn chunks_of(budget_bytes: usize, share: usize, most: usize) -> usize {
    let chunks = (budget_bytes / share + CHUNK_BYTES / 2) / CHUNK_BYTES;
    if budget_bytes < BUDGET_MIN_BYTES { 0 } else { chunks.clamp(1, most) }
}

/// The most chunks under a budget, which absences may fill before anything is measured.
pub(super) fn chunks_max(budget_bytes: usize) -> usize {
    chunks_of(budget_bytes, SHARE, CHUNKS_MAX)
}

impl CacheSize {
    /// Whether it is time to decide, after `visits` ever.
    pub(super) fn is_due(&self, visits: u64) -> bool {
        visits.saturating_sub(self.looked_at) >= WINDOW_VISITS
    }

    /// Chunks that the cache should have under a budget.
    pub(super) fn chunks(&self, budget_bytes: usize) -> usize {
        if self.is_idle {
            chunks_of(budget_bytes, IDLE_SHARE, INITIAL_CHUNKS)
        } else {
            chunks_max(budget_bytes)
        }
    }

    /// Decides whether the cache is worth its share.
    pub(super) fn decide(&mut self, cache: &NegativeCache, reading: &Reading) {
        let &Reading { visits, saved, price } = reading;
        let window = visits.saturating_sub(self.looked_at).max(1) as f64;
        let worth =
            saved.saturating_sub(self.saved_before) as f64 / window / cache.entry_bytes().max(1) as f64;
        (self.looked_at, self.saved_before) = (visits, saved);
        self.worth = (self.worth + worth) / 2.0;
        let Some(price) = price else { return };
        self.is_idle = self.worth < price * if self.is_idle { WORTH_AGAIN } else { WORTH_MIN };
    }
}
