//! Counters for operators.

use crate::names::ScopeId;
use crate::plan::ScopeCounts;
use crate::visits::OutcomeTotals;

/// Reserved bytes by what they are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsedBytes {
    /// Resident units with what owns them.
    pub units: usize,
    /// Per-table and per-segment state.
    pub bookkeeping: usize,
    /// Buffers in which lookups note what they saw, and what each thread keeps that looked up.
    pub buffers: usize,
    /// Units being read.
    pub loading: usize,
    /// Indexes of tables, resident or being read.
    pub indexes: usize,
    /// Replaced groups that a lookup still probes.
    pub garbage: usize,
}

/// What is resident of one level: its segments by their number of units, and indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LevelUnits {
    /// Level as the host told it.
    pub level: Option<u8>,
    /// `segments[n]` segments have `n` resident units.
    pub segments: Vec<u64>,
    /// Keys under these segments.
    pub keys: u64,
    /// Bytes of their resident units.
    pub unit_bytes: usize,
    /// Tables whose index is resident.
    pub indexes: usize,
    /// Bytes of these indexes.
    pub index_bytes: usize,
}

/// A reading of the tables of a [`ScopeId`].
#[derive(Clone, Debug, PartialEq)]
pub struct ScopeStats {
    /// Which.
    pub scope: ScopeId,
    /// Its tables, open or closed.
    pub tables: usize,
    /// Their residency by level, shallow levels first, tables of unknown level last.
    pub levels: Vec<LevelUnits>,
    /// What happened in them.
    pub counts: ScopeCounts,
}

/// A reading of a [`Manager`](crate::Manager).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// The budget in force.
    pub budget_bytes: usize,
    /// Bytes in use, all kinds together; never more than the budget in force.
    pub used_bytes: usize,
    /// The most bytes that were ever in use.
    pub peak_bytes: usize,
    /// Bytes in use by kind.
    pub used: UsedBytes,
    /// Tables known, open or closed.
    pub tables: usize,
    /// Tables known that no reader has open.
    pub closed_tables: usize,
    /// Tables that were refused for want of room even for their bookkeeping.
    pub refused_tables: u64,
    /// Open tables that wait for room for their bookkeeping. They are not among the known ones.
    pub tables_without_room: usize,
    /// Tables whose units, or whose directory, cannot be read at present. They are tried again until they can.
    pub failing_tables: usize,
    /// Segments of all tables known.
    pub segments: usize,
    /// Tables whose index is resident.
    pub resident_indexes: usize,
    /// Residency by level, shallow levels first, tables of unknown level last.
    pub levels: Vec<LevelUnits>,
    /// The same for each scope that has tables.
    pub scopes: Vec<ScopeStats>,
    /// Units that became resident by reading them.
    pub loads: u64,
    /// Bytes of those units.
    pub load_bytes: u64,
    /// Reads that brought them: a row of units counts once.
    pub load_reads: u64,
    /// Units that were given up.
    pub evictions: u64,
    /// Reads of units that found them corrupt. A unit that stays so is read again every half minute.
    pub corrupt_units: u64,
    /// Reads of units that failed otherwise, and of indexes, panics of a source among them.
    pub failed_reads: u64,
    /// Panics of the background thread and of the host's thread, which go on. Each is a bug: please report it.
    pub thread_panics: u64,
    /// Visits that the policy does not learn of, because the budget had no room for a buffer.
    pub dropped_visits: u64,
    /// Bytes outside of the budget: those of threads that looked up, until units make room for them, or because threads take a 128th of
    /// the budget already.
    pub unpaid_bytes: usize,
    /// The policy learns from one visit in this many, because lookups make them faster than it takes them in.
    pub sampled_one_in: u32,
    /// How all visits ended.
    pub outcomes: OutcomeTotals,
    /// `E[Extra_IO]` (ATC'19 section 3.4) by measured use and analytic rates: wasted reads to expect per visit of a lookup to a
    /// segment. 0 before anything was measured.
    pub expected_wasted_reads_per_visit: f64,
}

impl LevelUnits {
    /// Adds what another scope has on this level.
    pub fn add(&mut self, other: &Self) {
        let units = self.segments.len().max(other.segments.len());
        self.segments.resize(units, 0);
        self.segments.iter_mut().zip(&other.segments).for_each(|(sum, segments)| *sum += segments);
        self.keys += other.keys;
        self.unit_bytes += other.unit_bytes;
        self.indexes += other.indexes;
        self.index_bytes += other.index_bytes;
    }

    /// Resident units.
    pub fn units(&self) -> u64 {
        (0..).zip(&self.segments).map(|(units, segments)| units * segments).sum()
    }
}
