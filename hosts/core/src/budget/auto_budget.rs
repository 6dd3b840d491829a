//! Chooses the budget that is charged to a block cache by what lookups read: a prior by the memory that there is per key, times the factor
//! to which [`Climber`] climbs.

use std::{
    ops::RangeInclusive,
    time::{Duration, Instant},
};

use springbloom_manager::{Manager, MemoryKind};

use super::climber::{Climber, Counts};

/// The most of the cache that filters may have, in eighths.
pub(crate) const MOST_EIGHTHS: u32 = 7;
/// Bits per key of the prior for each byte of memory per key, and at most: what reads least on average in the stores that `springbloom map`
/// models.
const PRIOR_BITS_PER_BYTE: f64 = 3.0;
const PRIOR_BITS_MAX: f64 = 8.0;
/// A cache of records counts so often among that memory.
const ROWS_COUNT: usize = 2;
/// All units of a table have this many bits per key.
const BITS_MAX: f64 = 16.0;
/// Part of the cache to begin with, while no table is known.
const FIRST_PART: usize = 8;
/// Room in addition to twice the bookkeeping, below which tables are read without units.
const FLOOR_BYTES: usize = 8 << 10;
/// Visits after which it is judged what tables are used for; one part in this many by iterators is a good part of them.
const USES_MIN: u64 = 1000;
const SCANS_PART: u64 = 4;
/// How often keys are counted, at least, and the most of a core that it may take.
const COUNT_EVERY: Duration = Duration::from_millis(500);
const COUNT_PARTS: u32 = 200;
/// Of such a rise, at each count without refused tables.
const LIFT_KEPT: f64 = 0.5;
/// A budget moves by itself if it is off by more than this part.
const MOVE_MIN: f64 = 0.02;
/// Of blocks of data, about: what the cache reads to fill the room that filters leave it.
const BLOCK_BYTES: usize = 4096;

/// What is known of the cache, and the budget in force.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheLook {
    pub(crate) capacity: usize,
    /// Capacity of the caches of records that lookups ask before tables.
    pub(crate) row_cache: usize,
    /// That filters may have.
    pub(crate) room: usize,
    pub(crate) in_force: usize,
    /// Tables that iterators opened so far, and sought in without asking units.
    pub(crate) sought_tables: u64,
}

#[derive(Default)]
pub(crate) struct AutoBudget {
    climber: Climber,
    keys: u64,
    /// `None`: not counted yet.
    count_at: Option<Instant>,
    /// Tables refused so far, once they were counted: those of an earlier budget say nothing of this one.
    refused_tables: Option<u64>,
    /// Where tables are refused the budget rises to this, until they are open and count with the bookkeeping.
    lifted_bytes: f64,
    asked_bytes: usize,
    /// The prior when what was measured before it said something last.
    prior_bytes: f64,
    settle_reads: u64,
    /// The budget that the log was told.
    told_bytes: usize,
    uses: Uses,
}

/// What tables were used for, at the last count.
#[derive(Default)]
struct Uses {
    visits: u64,
    sought_tables: u64,
    /// Whether iterators made a good part of the visits lately. What they read is not counted, so nobody knows what they lose.
    are_scans: bool,
}

impl Uses {
    fn count(&mut self, visits: u64, sought_tables: u64) {
        let (looked_up, sought) = (visits - self.visits, sought_tables - self.sought_tables);
        if looked_up + sought >= USES_MIN {
            self.are_scans = sought * SCANS_PART >= looked_up;
            (self.visits, self.sought_tables) = (visits, sought_tables);
        }
    }
}

impl AutoBudget {
    /// The budget to ask for.
    pub(crate) fn next(&mut self, manager: &Manager, cache: CacheLook) -> usize {
        self.count(manager, cache);
        let bookkeeping = manager.budget().used_bytes_of(MemoryKind::Bookkeeping);
        // What a resident index takes of the cache the cache's own part of it leaves: filters share the rest with data.
        let indexes = manager.budget().used_bytes_of(MemoryKind::Indexes);
        let cache = CacheLook {
            capacity: cache.capacity.saturating_sub(indexes),
            room: cache.room.saturating_sub(indexes),
            ..cache
        };
        let prior = self.prior(cache, bookkeeping);
        let limits = self.limits(cache, bookkeeping);
        let outcomes = manager.outcomes();
        self.uses.count(outcomes.visits(), cache.sought_tables);
        let is_short = cache.in_force < self.asked_bytes - self.asked_bytes / 64;
        let has_changed = (prior / self.prior_bytes).ln().abs() > 2.0 * MOVE_MIN;
        if is_short || has_changed {
            self.climber.disturb();
            self.prior_bytes = prior;
        }
        let counts = Counts { visits: outcomes.visits(), block_reads: outcomes.block_reads };
        let factors = limits.start() / prior..=limits.end() / prior;
        let factor = self.climber.look(counts, self.settle_reads, factors);
        let wanted = (prior * factor).min(*limits.end()).max(*limits.start()) + indexes as f64;
        let off = (wanted / self.asked_bytes.max(1) as f64).ln().abs();
        if off > MOVE_MIN || self.asked_bytes > cache.room + indexes {
            let moved = (wanted as usize).abs_diff(self.asked_bytes);
            // This many blocks come and as many again find their place among the others.
            self.settle_reads = 2 * (moved / BLOCK_BYTES) as u64;
            self.asked_bytes = wanted as usize;
        }
        self.asked_bytes
    }

    /// What the log should be told, if the budget has come to rest elsewhere than before.
    pub(crate) fn news(&mut self, capacity: usize) -> Option<String> {
        if !self.climber.is_resting() || self.asked_bytes.abs_diff(self.told_bytes) <= self.told_bytes / 8 {
            return None;
        }
        self.told_bytes = self.asked_bytes;
        Some(format!(
            "the filter budget is {} bytes of a block cache of {capacity}, {:.1} bits for each of {} keys: another reads no fewer blocks",
            self.asked_bytes,
            self.asked_bytes as f64 * 8.0 / self.keys.max(1) as f64,
            self.keys
        ))
    }

    fn count(&mut self, manager: &Manager, cache: CacheLook) {
        let begun = Instant::now();
        if self.count_at.is_some_and(|at| begun < at) {
            return;
        }
        self.keys = manager.keys();
        let refused_tables = manager.refused_tables();
        self.lifted_bytes *= LIFT_KEPT;
        if self.refused_tables.is_some_and(|before| refused_tables > before) {
            self.lifted_bytes = cache.in_force as f64 * 1.25;
        }
        self.refused_tables = Some(refused_tables);
        self.count_at = Some(begun + COUNT_EVERY.max(begun.elapsed() * COUNT_PARTS));
    }

    /// The budget that is likely to be good.
    fn prior(&self, cache: CacheLook, bookkeeping: usize) -> f64 {
        if self.keys == 0 {
            return (cache.capacity / FIRST_PART).max(1) as f64;
        }
        let keys = self.keys as f64;
        // Where hot records are cached before they come to a table, blocks of data are worth less.
        let memory = (cache.capacity + ROWS_COUNT * cache.row_cache) as f64;
        bookkeeping as f64 + keys * prior_bits(memory / keys) / 8.0
    }

    fn limits(&self, cache: CacheLook, bookkeeping: usize) -> RangeInclusive<f64> {
        let room = cache.room as f64;
        let floor = (2 * bookkeeping + FLOOR_BYTES) as f64;
        if self.keys == 0 {
            return floor.max(self.lifted_bytes).min(room)..=room;
        }
        // A part of the budget keeps absent keys and buffers.
        let mut most = (bookkeeping as f64 + self.keys as f64 * BITS_MAX / 8.0) * 1.25;
        if self.uses.are_scans {
            most = most.min((cache.capacity / FIRST_PART) as f64);
        }
        let most = most.max(floor).min(room);
        floor.max(self.lifted_bytes).min(most)..=most
    }
}

/// Bits per key where there is this much memory per key.
fn prior_bits(memory_per_key: f64) -> f64 {
    (PRIOR_BITS_PER_BYTE * memory_per_key).min(PRIOR_BITS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scans_are_a_good_part_of_what_was_done_lately() {
        let mut uses = Uses::default();
        for (visits, sought_tables, are_scans) in
            [(900, 0, false), (1_000, 10, false), (1_500, 600, true), (1_600, 600, true), (9_000, 700, false)]
        {
            uses.count(visits, sought_tables);
            assert_eq!(uses.are_scans, are_scans, "{visits} {sought_tables}");
        }
    }

    #[test]
    fn the_prior_grows_with_the_memory_per_key() {
        for (memory, bits) in [(0.5, 1.5), (1.0, 3.0), (2.0, 6.0), (4.0, 8.0), (50.0, 8.0)] {
            assert_eq!(prior_bits(memory), bits, "{memory} bytes per key");
        }
    }
}
