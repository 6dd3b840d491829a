//! The registry's care for the cache of absences: its share of the budget, and what it knows of tables that are gone.

use std::sync::Arc;

use super::share::{Share, chunks_at_first, chunks_max};
use super::{AbsenceCache, CHUNK_BYTES};
use crate::registry::Registry;
use crate::{MemoryKind, OutcomeTotals};

/// Visits taken in between two questions whether the share should change.
const ASK_EVERY_TICKS: u64 = 4096;
/// Most forgotten tables that are noted; what is known of others goes when new absences need the place.
const FORGOTTEN_MAX: usize = 64;

/// The cache and what its care needs.
pub(crate) struct Absences {
    pub cache: Arc<AbsenceCache>,
    is_enabled: bool,
    share: Share,
    unknown: UnknownShare,
    ask_at: u64,
    /// Numbers of tables that were forgotten since the last sweep began.
    forgotten: Vec<u32>,
    sweep: Option<Sweep>,
}

/// Of the visits that units lately let pass in vain, the share whose key was not known to be absent: what the analytic rates of units, which
/// know nothing of absences, are to be multiplied by.
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

/// A walk over all chunks that drops the absences of some tables.
struct Sweep {
    tables: Vec<u32>,
    chunk: usize,
}

impl Absences {
    /// Bytes whatever the number of tables.
    pub(crate) const FIXED_BYTES: usize = 2 * FORGOTTEN_MAX * size_of::<u32>();

    pub(crate) fn new(cache: Arc<AbsenceCache>, is_enabled: bool) -> Self {
        Self {
            cache,
            is_enabled,
            share: Share::default(),
            unknown: UnknownShare::default(),
            ask_at: 0,
            forgotten: Vec::new(),
            sweep: None,
        }
    }

    /// Of the visits that units let pass in vain, the share that wastes a read.
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
    fn sweep_step(&mut self) {
        let Some(sweep) = &mut self.sweep else {
            if !self.forgotten.is_empty() {
                let mut tables = std::mem::take(&mut self.forgotten);
                tables.sort_unstable();
                self.sweep = Some(Sweep { tables, chunk: 0 });
            }
            return;
        };
        let is_known = |table: u32| sweep.tables.binary_search(&table).is_err();
        if self.cache.retain_in(sweep.chunk, is_known) {
            sweep.chunk += 1;
        } else {
            self.sweep = None;
        }
    }
}

impl Registry {
    /// No more absences than their share of a new budget.
    pub(crate) fn shrink_absences(&mut self, limit_bytes: usize) {
        self.absences.cache.truncate(chunks_max(limit_bytes));
    }

    /// Room for absences in a new budget: never more than their share, and at once what they begin with.
    pub(crate) fn fit_absences(&mut self, limit_bytes: usize) {
        self.shrink_absences(limit_bytes);
        if self.absences.is_enabled && self.absences.cache.len() == 0 {
            self.resize_absences(chunks_at_first(limit_bytes));
        }
    }

    /// Gives up all of it, for a budget that is less than the bookkeeping; `false` if there was nothing left of it.
    pub(crate) fn give_up_absences(&mut self) -> bool {
        let had_any = self.budget.used_bytes_of(MemoryKind::Absences) > 0; // or a lookup is still looking
        self.absences.cache.truncate(0);
        had_any
    }

    /// A bounded piece of work on the cache: moves its share where that saves reads, drops what is known of forgotten tables.
    pub(crate) fn tend_absences(&mut self) {
        if !self.absences.is_enabled {
            return;
        }
        self.absences.sweep_step();
        let ticks = self.planner.allocation().ticks();
        if ticks < self.absences.ask_at {
            return;
        }
        self.absences.ask_at = ticks + ASK_EVERY_TICKS;
        let totals = self.totals();
        self.absences.unknown.measure(totals);
        let visits = totals.visits();
        let limit_bytes = self.budget.limit_bytes();
        if self.absences.share.is_due(visits) {
            let price = self.planner.byte_price();
            let absences = &mut self.absences;
            let chunks = absences.share.decide(&absences.cache, visits, price, limit_bytes);
            self.resize_absences(chunks);
        }
    }

    fn resize_absences(&mut self, chunks: usize) {
        let length = self.absences.cache.len();
        if chunks > length {
            self.fit((chunks - length) * CHUNK_BYTES);
            self.absences.cache.grow(chunks - length);
            self.fit(0);
        } else if chunks < length {
            self.absences.cache.truncate(chunks);
            self.fit(0);
        }
    }
}
