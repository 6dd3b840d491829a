//! The size of the negative cache within the budget, and what it still holds of tables that are gone.

mod missed;
#[cfg(test)]
mod simulation;
mod sizing;

pub use missed::{KnownAbsences, Lately};
pub(crate) use sizing::BUDGET_MIN_BYTES;

use std::sync::Arc;

use crate::lookup::negative_cache::{CHUNK_BYTES, NegativeCache};
use crate::visits::OutcomeTotals;
use missed::Missed;
use sizing::{CacheSize, INITIAL_CHUNKS, Reading, chunks_max};

/// Visits taken in between two questions whether the share should change.
const ASK_EVERY_TICKS: u64 = 4096;
/// Dropped tables queued for purging; entries of further ones age out.
const FORGOTTEN_MAX: usize = 64;
/// Most chunks that are added at once: a few milliseconds, for which tables wait to be opened.
const GROWTH_MAX: usize = 512;

/// The cache and what its care needs.
pub(crate) struct NegativeCacheSizer {
    cache: Arc<NegativeCache>,
    is_enabled: bool,
    share: CacheSize,
    /// Chunks that the cache may have; it grows to them as absences fill it.
    chunks_wanted: usize,
    missed: Missed,
    ask_at: u64,
    /// Numbers of tables that were forgotten since the last sweep began.
    forgotten: Vec<u32>,
    purge: Option<Purge>,
}

/// Removes the entries of some tables, a chunk at a time.
struct Purge {
    tables: Vec<u32>,
    chunk: usize,
}

impl NegativeCacheSizer {
    /// Bytes whatever the number of tables.
    pub(crate) const FIXED_BYTES: usize = 2 * FORGOTTEN_MAX * size_of::<u32>();

    pub(crate) fn new(cache: Arc<NegativeCache>, is_enabled: bool) -> Self {
        Self {
            cache,
            is_enabled,
            share: CacheSize::default(),
            chunks_wanted: 0,
            missed: Missed::default(),
            ask_at: 0,
            forgotten: Vec::new(),
            purge: None,
        }
    }

    /// Share of false positives that waste a read.
    pub(crate) fn unknown_share(&self) -> f64 {
        self.missed.share()
    }

    /// How visits ended lately.
    pub(crate) fn lately(&self) -> Lately {
        self.missed.lately(self.cache.len() * CHUNK_BYTES)
    }

    /// Another budget was asked for.
    pub(crate) fn forget_wasted(&mut self) {
        self.missed.forget_wasted();
    }

    /// A table is gone; its number is never used again.
    pub(crate) fn forget(&mut self, table: u32) {
        if self.cache.len() > 0 && self.forgotten.len() < FORGOTTEN_MAX {
            self.forgotten.push(table);
        }
    }

    /// No more absences than their share of a budget. Returns whether some went.
    pub(crate) fn shrink(&mut self, budget_bytes: usize) -> bool {
        self.want_chunks(self.chunks_wanted.min(chunks_max(budget_bytes)))
    }

    /// Lets an empty cache have what it begins with in a budget.
    pub(crate) fn begin(&mut self, budget_bytes: usize) {
        if self.is_enabled && self.cache.len() == 0 {
            self.want_chunks(self.share.chunks(budget_bytes));
        }
    }

    /// Gives up all of it, for a budget that is less than the bookkeeping. Returns whether some went.
    pub(crate) fn give_up(&mut self) -> bool {
        self.want_chunks(0)
    }

    /// From now on the cache may have so many chunks; those that are too many go at once. Returns whether some went.
    fn want_chunks(&mut self, chunks: usize) -> bool {
        self.chunks_wanted = chunks;
        let are_fewer = chunks < self.cache.len();
        if are_fewer {
            self.cache.truncate(chunks);
        }
        are_fewer
    }

    /// Chunks that the cache may have and absences would fill: a budget that is far more than the keys that are asked for costs nothing.
    pub(crate) fn chunks_to_add(&self) -> usize {
        let (length, wanted) = (self.cache.len(), self.chunks_wanted);
        let missing = if self.is_enabled { wanted.saturating_sub(length) } else { 0 };
        if length < INITIAL_CHUNKS {
            missing.min(INITIAL_CHUNKS - length)
        } else if missing > 0 && self.cache.has_filled_what_was_added() {
            missing.min(length).min(GROWTH_MAX)
        } else {
            0
        }
    }

    /// Adds chunks, as far as the budget has room for them.
    pub(crate) fn grow(&mut self, chunks: usize) {
        self.cache.grow(chunks);
    }

    /// Whether it is time to [decide](Self::decide), when `ticks` visits were taken in.
    pub(crate) fn is_due(&self, ticks: u64) -> bool {
        ticks >= self.ask_at
    }

    /// Measures, and moves the share of the budget where that saves reads; `price` is what a byte is worth in units. Returns whether chunks
    /// went.
    pub(crate) fn decide(
        &mut self,
        ticks: u64,
        totals: OutcomeTotals,
        price: Option<f64>,
        budget_bytes: usize,
    ) -> bool {
        self.ask_at = ticks + ASK_EVERY_TICKS;
        self.missed.measure(totals);
        let visits = totals.visits();
        if !self.is_enabled || !self.share.is_due(visits) {
            return false;
        }
        self.share.decide(&self.cache, &Reading { visits, saved: totals.known_absent, price });
        self.want_chunks(self.share.chunks(budget_bytes))
    }

    /// Does a chunk of the sweep, or begins one.
    pub(crate) fn purge_step(&mut self) {
        let Some(purge) = &mut self.purge else {
            if !self.forgotten.is_empty() {
                let mut tables = std::mem::take(&mut self.forgotten);
                tables.sort_unstable();
                self.purge = Some(Purge { tables, chunk: 0 });
            }
            return;
        };
        let is_known = |table: u32| purge.tables.binary_search(&table).is_err();
        if self.cache.retain_in(purge.chunk, is_known) {
            purge.chunk += 1;
        } else {
            self.purge = None;
        }
    }
}
