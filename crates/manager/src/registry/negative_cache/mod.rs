//! The size of the negative cache within the budget, and what it still holds of tables that are gone.

#[cfg(test)]
mod simulation;
mod sizing;

use std::sync::Arc;

use super::Registry;
use crate::budget::MemoryKind;
use crate::lookup::negative_cache::{CHUNK_BYTES, NegativeCache};
use crate::visits::OutcomeTotals;
use sizing::{CacheSize, Reading, UNASKED_MAX, chunks_at_first, chunks_max};

/// Visits taken in between two questions whether the share should change.
const ASK_EVERY_TICKS: u64 = 4096;
/// Most forgotten tables that are noted; what is known of others goes when new absences need the place.
const FORGOTTEN_MAX: usize = 64;
/// Most chunks that are added at once: a few milliseconds, for which tables wait to be opened.
const GROWTH_MAX: usize = 512;

/// The cache and what its care needs.
pub(crate) struct CacheMaintenance {
    pub cache: Arc<NegativeCache>,
    is_enabled: bool,
    share: CacheSize,
    /// Chunks that the cache may have; it grows to them as absences fill it.
    chunks_wanted: usize,
    unknown: UnknownShare,
    ask_at: u64,
    /// Numbers of tables that were forgotten since the last sweep began.
    forgotten: Vec<u32>,
    purge: Option<Purge>,
}

/// Share of false positives that the negative cache misses, measured lately. It scales the analytic rates of units.
struct UnknownShare {
    share: f64,
    /// Outcomes ever, when it was measured last.
    wasted_reads: u64,
    known_absent: u64,
}

impl Default for UnknownShare {
    fn default() -> Self {
        Self { share: 1.0, wasted_reads: 0, known_absent: 0 }
    }
}

impl UnknownShare {
    /// Visits that a measurement needs.
    const VISITS_MIN: u64 = 256;

    fn measure(&mut self, totals: OutcomeTotals) {
        let wasted = totals.wasted_reads - self.wasted_reads;
        let passed = wasted + totals.known_absent - self.known_absent;
        if passed >= Self::VISITS_MIN {
            self.share = (self.share + wasted as f64 / passed as f64) / 2.0;
            (self.wasted_reads, self.known_absent) = (totals.wasted_reads, totals.known_absent);
        }
    }
}

/// Removes the entries of some tables, a chunk at a time.
struct Purge {
    tables: Vec<u32>,
    chunk: usize,
}

impl CacheMaintenance {
    /// Bytes whatever the number of tables.
    pub(crate) const FIXED_BYTES: usize = 2 * FORGOTTEN_MAX * size_of::<u32>();

    pub(crate) fn new(cache: Arc<NegativeCache>, is_enabled: bool) -> Self {
        Self {
            cache,
            is_enabled,
            share: CacheSize::default(),
            chunks_wanted: 0,
            unknown: UnknownShare::default(),
            ask_at: 0,
            forgotten: Vec::new(),
            purge: None,
        }
    }

    /// Share of false positives that waste a read.
    pub(crate) fn unknown_share(&self) -> f64 {
        self.unknown.share
    }

    /// A table is gone; its number is never used again.
    pub(crate) fn forget(&mut self, table: u32) {
        if self.cache.len() > 0 && self.forgotten.len() < FORGOTTEN_MAX {
            self.forgotten.push(table);
        }
    }

    /// Does a chunk of the sweep, or begins one.
    fn purge_step(&mut self) {
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

impl Registry {
    /// No more absences than their share of a new budget.
    pub(crate) fn shrink_negative_cache(&mut self, budget_bytes: usize) {
        self.want_chunks(self.negative_cache.chunks_wanted.min(chunks_max(budget_bytes)));
    }

    /// Room for absences in a new budget: never more than their share, and at once what they begin with.
    pub(crate) fn fit_negative_cache(&mut self, budget_bytes: usize) {
        self.shrink_negative_cache(budget_bytes);
        if self.negative_cache.is_enabled && self.negative_cache.cache.len() == 0 {
            self.want_chunks(chunks_at_first(budget_bytes));
            self.grow_negative_cache();
        }
    }

    /// Gives up all of it, for a budget that is less than the bookkeeping; `false` if there was nothing left of it.
    pub(crate) fn give_up_negative_cache(&mut self) -> bool {
        let had_any = self.budget.used_bytes_of(MemoryKind::NegativeCache) > 0; // or a lookup is still looking
        self.want_chunks(0);
        had_any
    }

    /// A bounded piece of work on the cache: moves its share where that saves reads, drops what is known of forgotten tables.
    pub(crate) fn maintain_negative_cache(&mut self) {
        if !self.negative_cache.is_enabled {
            return;
        }
        self.negative_cache.purge_step();
        self.grow_negative_cache();
        let ticks = self.planner.allocation().ticks();
        if ticks < self.negative_cache.ask_at {
            return;
        }
        self.negative_cache.ask_at = ticks + ASK_EVERY_TICKS;
        let totals = self.totals();
        self.negative_cache.unknown.measure(totals);
        let visits = totals.visits();
        let budget_bytes = self.budget.budget_bytes();
        if self.negative_cache.share.is_due(visits) {
            let price = self.planner.marginal_value_per_byte();
            let absences = &mut self.negative_cache;
            let reading = Reading { visits, saved: totals.known_absent, price, budget_bytes };
            let chunks = absences.share.decide(&absences.cache, &reading);
            // One that is good for what it has grown to so far goes on growing.
            let is_less = chunks < absences.cache.len();
            self.want_chunks(if is_less { chunks } else { chunks.max(self.negative_cache.chunks_wanted) });
        }
    }

    /// From now on the cache may have so many chunks; those that are too many go at once.
    fn want_chunks(&mut self, chunks: usize) {
        self.negative_cache.chunks_wanted = chunks;
        if chunks < self.negative_cache.cache.len() {
            self.negative_cache.cache.truncate(chunks);
            self.fit(0);
        }
    }

    /// Adds chunks that the cache may have and absences would fill: a budget that is far more than the keys that are asked for costs
    /// nothing.
    fn grow_negative_cache(&mut self) {
        let (cache, wanted) = (&self.negative_cache.cache, self.negative_cache.chunks_wanted);
        let length = cache.len();
        let added = match wanted.checked_sub(length) {
            None | Some(0) => return,
            Some(_) if length < UNASKED_MAX => wanted.min(UNASKED_MAX) - length,
            Some(missing) if cache.has_filled_what_was_added() => missing.min(length).min(GROWTH_MAX),
            Some(_) => return,
        };
        self.fit(added * CHUNK_BYTES);
        self.negative_cache.cache.grow(added);
        self.fit(0);
    }
}
