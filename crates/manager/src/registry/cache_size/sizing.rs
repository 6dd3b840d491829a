//! How much of the budget the negative cache gets: as much as saves more reads there than it would as units.
//!
//! Both sides are measured at the margin, in reads saved per visit and byte: what units save that a few bytes more or less would let in or
//! out, and what the last entry of each bucket does. The optimum is flat, a window shows few such reads in a small cache, and every step
//! loses entries and units: so steps are coarse and rare, and there is none while both sides are within a factor of [`HYSTERESIS`]. A cache
//! that is not full has no last entries yet: the mean of its entries stands for them.
//!
//! A fixed share would waste 7% more reads where no key is hot (decision 0014).

use crate::lookup::negative_cache::{CHUNK_BYTES, MarginalHits, NegativeCache};

/// Share of the budget to begin with, and of one whose policy puts no price on its units.
const SHARE_AT_FIRST: usize = 32;
/// Most that absences get.
const SHARE_MAX: usize = 8;
/// Minimum share, kept to notice when the cache becomes useful again.
const SHARE_MIN: usize = 256;
/// A budget below this has no share to give.
pub(crate) const BUDGET_MIN_BYTES: usize = 16 * CHUNK_BYTES;
/// Most chunks that there are before absences fill them, and that are kept where they save nothing: 257 KiB.
pub(super) const INITIAL_CHUNKS: usize = 64;
/// Most chunks, in a budget of any size: some twenty million absences. The list of chunks is copied when it grows.
const CHUNKS_MAX: usize = 1 << 16;

/// Visits between two looks at what was measured.
const WINDOW_VISITS: u64 = 1 << 16;
/// A decision waits until so many reads saved at the margin would have been seen if a byte were worth as much there as in units. With
/// fewer, chance alone is a factor of [`HYSTERESIS`].
const MIN_EXPECTED_HITS: f64 = 4.0;
/// Bytes of an entry before the size of any at the margin was seen.
const TYPICAL_ENTRY_BYTES: f64 = 12.0;
/// Part of what was measured before that counts at the next decision.
const DECAY: f64 = 0.5;
/// Observed marginal hits are about half of the true ones: with less room, other entries than the next one to go would earn fewer points,
/// too. By simulation (decision 0014).
const OBSERVED_FRACTION: f64 = 0.5;
/// The better use of a byte must be this many times better.
const HYSTERESIS: f64 = 2.0;
/// A step is one part in so many.
const STEP_PARTS: usize = 8;
/// Part of the room that entries take in a full cache, at least: a bucket is full when it has no room for another entry.
const FULL_FRACTION: f64 = 0.8;
/// Where units are this many times better, half of the cache goes at once.
const OUT_OF_PROPORTION: f64 = 8.0;

/// Decides the number of chunks.
#[derive(Debug, Default)]
pub(super) struct CacheSize {
    /// Visits ever made when the window began.
    begun_at: u64,
    /// Visits ever made when it was looked at last.
    looked_at: u64,
    /// Reads ever saved when the window began.
    saved_before: u64,
    /// Seen at the margin in the window.
    marginal: MarginalHits,
    /// Reads saved at the margin, per visit and byte.
    worth: f64,
    /// Reads saved by all entries, per visit and byte.
    mean_worth: f64,
}

/// What the manager counted when the size of the cache is decided.
pub(super) struct Reading {
    /// Visits ever made.
    pub(super) visits: u64,
    /// Reads that the cache ever saved.
    pub(super) saved: u64,
    /// Reads saved per visit and byte by units at the margin, if the policy tells.
    pub(super) price: Option<f64>,
    pub(super) budget_bytes: usize,
}

/// The most chunks under a budget.
pub(super) fn chunks_max(budget_bytes: usize) -> usize {
    if budget_bytes < BUDGET_MIN_BYTES {
        0
    } else {
        (budget_bytes / SHARE_MAX / CHUNK_BYTES).clamp(1, CHUNKS_MAX)
    }
}

/// Chunks that absences may fill under a budget before anything is measured.
pub(super) fn chunks_at_first(budget_bytes: usize) -> usize {
    (budget_bytes / SHARE_AT_FIRST / CHUNK_BYTES).max(1).min(chunks_max(budget_bytes))
}

/// The least chunks under a budget that has any.
fn chunks_min(budget_bytes: usize) -> usize {
    (budget_bytes / SHARE_MIN / CHUNK_BYTES).clamp(1, INITIAL_CHUNKS)
}

/// Bytes to expect under a budget where `bytes` were worth it under another one: as many within the bounds. A further unit saves the same
/// part of what is wasted under any budget, and so does a further entry, as long as the keys are of Zipf's popularity.
pub(crate) fn bytes_under(budget_bytes: usize, bytes: usize) -> usize {
    (bytes / CHUNK_BYTES).max(chunks_min(budget_bytes)).min(chunks_max(budget_bytes)) * CHUNK_BYTES
}

impl CacheSize {
    /// Whether it is time to decide, after `visits` ever.
    pub(super) fn is_due(&self, visits: u64) -> bool {
        visits.saturating_sub(self.looked_at) >= WINDOW_VISITS
    }

    /// Chunks that the cache should have.
    pub(super) fn decide(&mut self, cache: &NegativeCache, reading: &Reading) -> usize {
        let &Reading { visits, saved, price, budget_bytes } = reading;
        let (length, most) = (cache.len(), chunks_max(budget_bytes));
        self.looked_at = visits;
        self.marginal += cache.take_marginal_hits();
        let Some(price) = price else { return chunks_at_first(budget_bytes) };
        let window = visits.saturating_sub(self.begun_at).max(1) as f64;
        let MarginalHits { hits, bytes: hit_bytes } = self.marginal;
        let entry_bytes = if hits == 0 { TYPICAL_ENTRY_BYTES } else { hit_bytes as f64 / hits as f64 };
        let marginal_bytes = entry_bytes * cache.buckets() as f64;
        let expected = price * window * marginal_bytes * OBSERVED_FRACTION;
        if length > 0 && price > 0.0 && expected < MIN_EXPECTED_HITS {
            return length;
        }
        let saved_in_window = saved.saturating_sub(self.saved_before) as f64;
        (self.begun_at, self.saved_before, self.marginal) = (visits, saved, MarginalHits::default());
        let used_bytes = cache.entry_bytes();
        let worth = if hits == 0 { 0.0 } else { hits as f64 / OBSERVED_FRACTION / window / marginal_bytes };
        let mean_worth = saved_in_window / window / used_bytes.max(1) as f64;
        self.worth = DECAY * self.worth + (1.0 - DECAY) * worth;
        self.mean_worth = DECAY * self.mean_worth + (1.0 - DECAY) * mean_worth;
        let is_full = used_bytes as f64 >= FULL_FRACTION * (length * CHUNK_BYTES) as f64;
        let worth = if is_full { self.worth } else { self.worth.max(self.mean_worth) };
        let step = (length / STEP_PARTS).max(1);
        let wanted = if length == 0 {
            chunks_at_first(budget_bytes)
        } else if self.worth > price * HYSTERESIS {
            length + step
        } else if worth * OUT_OF_PROPORTION < price {
            length - (length / 2).max(1)
        } else if worth * HYSTERESIS < price {
            length - step
        } else {
            length
        };
        wanted.max(chunks_min(budget_bytes)).min(most)
    }
}
