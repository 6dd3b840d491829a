//! The run of each table (its column family and level), with sums over the segments of each run. There are few runs, so a table keeps the
//! number of its run.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::interned::Interned;
use crate::memory::{grow_thriftily, thrifty_bytes};
use crate::names::ScopeId;
use crate::visits::Outcome;

/// A level of a scope, as the host reported it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The scope.
    pub scope: ScopeId,
    /// The level, if it is known.
    pub level: Option<u8>,
}

impl Run {
    /// Whether each of its tables is a sorted run of its own: tables of level 0 overlap, and those of an unknown level may.
    pub fn is_of_single_tables(self) -> bool {
        matches!(self.level, None | Some(0))
    }
}

/// Sums over segments of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RunShare {
    /// Their weight where visits are spread evenly: keys, or tables where each table is a run of its own.
    pub spread: f64,
    /// The same weights, each times the false-positive rate of the segment's allocated units.
    pub passing: f64,
    /// Weighted visits for keys that the segments do not hold.
    pub negatives: f64,
}

/// What happened in the tables of a [`ScopeId`](crate::ScopeId) since it has tables. Visits are an estimate: each that the policy learns
/// from counts for as many as it stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScopeCounts {
    /// Visits that resident units ended.
    pub rejected: u64,
    /// Visits that read a data block for nothing.
    pub wasted_reads: u64,
    /// All others: those that found the key, of which an earlier one had found that the key is not there, or that were not to read a block.
    pub passed: u64,
    /// Units that became resident by reading them. Exact.
    pub loads: u64,
}

impl ScopeCounts {
    /// All visits.
    pub fn visits(&self) -> u64 {
        self.rejected + self.wasted_reads + self.passed
    }

    /// Adds what happened elsewhere.
    pub fn add(&mut self, other: Self) {
        let Self { rejected, wasted_reads, passed, loads } = self;
        *rejected += other.rejected;
        *wasted_reads += other.wasted_reads;
        *passed += other.passed;
        *loads += other.loads;
    }
}

/// A run that has tables.
#[derive(Debug)]
struct KnownRun {
    run: Run,
    /// Of its tables.
    sums: RunShare,
    /// What happened in it.
    counts: ScopeCounts,
    /// Whether it put its scope among the visited ones, so that most visits need no look at them.
    is_visited: bool,
}

/// The run of every known table.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    known: Interned<KnownRun>,
    /// What happened in runs that are gone, of scopes that have others.
    gone: BTreeMap<ScopeId, ScopeCounts>,
    /// Scopes with visits since they were asked for.
    visited: BTreeSet<ScopeId>,
    /// Places in `known` by table; [`NO_RUN`] for free slots.
    places: Vec<u32>,
}

const NO_RUN: u32 = u32::MAX;

impl Runs {
    /// Bytes of a table.
    pub(crate) const TABLE_BYTES: usize = thrifty_bytes::<u32>();

    fn known(&self, table: u32) -> Option<&KnownRun> {
        self.known.get(*self.places.get(table as usize)?)
    }

    fn known_mut(&mut self, table: u32) -> Option<&mut KnownRun> {
        self.known.get_mut(*self.places.get(table as usize)?)
    }

    /// Adds a table whose segments add up to `share`. O(runs).
    pub(crate) fn insert_table(&mut self, table: u32, run: Run, share: RunShare) {
        let slot = table as usize;
        if self.places.len() <= slot {
            grow_thriftily(&mut self.places, slot + 1);
            self.places.resize(slot + 1, NO_RUN);
        }
        let new =
            KnownRun { run, sums: RunShare::default(), counts: ScopeCounts::default(), is_visited: false };
        self.places[slot] = self.known.intern(new, |known, new| known.run == new.run);
        if let Some(KnownRun { sums, .. }) = self.known_mut(table) {
            sums.spread += share.spread;
            sums.passing += share.passing;
            sums.negatives += share.negatives;
        }
    }

    /// Removes a table whose segments add up to `share`.
    pub(crate) fn remove_table(&mut self, table: u32, share: RunShare) {
        let Some(KnownRun { sums, .. }) = self.known_mut(table) else { return };
        sums.spread -= share.spread;
        sums.passing -= share.passing;
        sums.negatives -= share.negatives;
        let place = std::mem::replace(&mut self.places[table as usize], NO_RUN);
        let Some(KnownRun { run: Run { scope, .. }, counts, .. }) = self.known.release(place) else { return };
        // The run is gone. Counts never fall while its scope has tables.
        if self.known.values().any(|known| known.run.scope == scope) {
            self.gone.entry(scope).or_default().add(counts);
        } else {
            self.gone.remove(&scope);
            self.visited.remove(&scope);
        }
    }

    /// A visit to the table was taken in, which stands for `visits`.
    pub(crate) fn count_visits(&mut self, table: u32, outcome: Outcome, visits: u64) {
        let Some(KnownRun { run, counts, is_visited, .. }) = self.known_mut(table) else { return };
        *match outcome {
            Outcome::Rejected | Outcome::RejectedByLast => &mut counts.rejected,
            Outcome::WastedRead => &mut counts.wasted_reads,
            Outcome::TruePositive | Outcome::NotRead => &mut counts.passed,
        } += visits;
        let scope = run.scope;
        if !std::mem::replace(is_visited, true) {
            self.visited.insert(scope);
        }
    }

    /// The scopes with visits since the last call, of those that have tables. O(runs).
    pub(crate) fn take_visited(&mut self) -> BTreeSet<ScopeId> {
        self.known.values_mut().for_each(|known| known.is_visited = false);
        std::mem::take(&mut self.visited)
    }

    /// Whether [`take_visited`](Self::take_visited) would give one of them.
    pub(crate) fn is_any_visited(&self, scopes: Range<ScopeId>) -> bool {
        self.visited.range(scopes).next().is_some()
    }

    /// Units of the table were read.
    pub(crate) fn count_loads(&mut self, table: u32, units: u64) {
        if let Some(known) = self.known_mut(table) {
            known.counts.loads += units;
        }
    }

    /// What happened in each scope that has tables.
    pub(crate) fn scope_counts(&self) -> BTreeMap<ScopeId, ScopeCounts> {
        let mut scopes = self.gone.clone();
        for known in self.known.values() {
            scopes.entry(known.run.scope).or_default().add(known.counts);
        }
        scopes
    }

    /// Adds weighted visits of a segment of the table for absent keys.
    pub(crate) fn add_negatives(&mut self, table: u32, weight: f32) {
        if let Some(known) = self.known_mut(table) {
            known.sums.negatives += f64::from(weight);
        }
    }

    /// Notes that the units of a segment of the table let more or less pass.
    pub(crate) fn add_passing(&mut self, table: u32, more: f64) {
        if let Some(known) = self.known_mut(table) {
            known.sums.passing += more;
        }
    }

    /// Scales all sums, as all measured use was scaled.
    pub(crate) fn scale(&mut self, factor: f32) {
        self.known.values_mut().for_each(|known| known.sums.negatives *= f64::from(factor));
    }

    /// Sums over the run of a table; zeros for an unknown one.
    pub(crate) fn sums(&self, table: u32) -> RunShare {
        self.known(table).map(|known| known.sums).unwrap_or_default()
    }

    /// What happened in some scopes, of which these are all the tables. O(tables).
    pub(crate) fn counts_of(&self, scopes: Range<ScopeId>, tables: &[u32]) -> ScopeCounts {
        let mut sum = ScopeCounts::default();
        self.gone.range(scopes).for_each(|(_, counts)| sum.add(*counts));
        let places: BTreeSet<_> =
            tables.iter().filter_map(|&table| self.places.get(table as usize)).collect();
        let known = places.into_iter().filter_map(|&place| self.known.get(place));
        known.for_each(|known| sum.add(known.counts));
        sum
    }

    /// The run of a table; `None` for an unknown one.
    pub(crate) fn of(&self, table: u32) -> Option<Run> {
        Some(self.known(table)?.run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_the_run_that_it_was_put_in() {
        let run = |scope, level| Run { scope: ScopeId(scope), level };
        let share = |keys: f64| RunShare { spread: keys, passing: keys, negatives: keys };
        let spread = |runs: &Runs| [0, 1, 2, 3, 5, 9].map(|table| runs.sums(table).spread);
        let mut runs = Runs::default();
        runs.insert_table(3, run(1, Some(2)), share(10.0));
        runs.insert_table(0, run(1, Some(2)), share(5.0));
        runs.insert_table(1, run(2, None), share(7.0));
        assert_eq!((runs.of(0), runs.of(2), runs.of(9)), (Some(run(1, Some(2))), None, None));
        assert_eq!(spread(&runs), [15.0, 7.0, 0.0, 15.0, 0.0, 0.0]);
        runs.remove_table(1, share(7.1));
        runs.remove_table(1, share(7.1));
        runs.insert_table(5, run(3, Some(0)), share(1.0));
        assert_eq!((runs.of(5), runs.of(1)), (Some(run(3, Some(0))), None));
        assert_eq!(
            runs.sums(5),
            share(1.0),
            "a run in the place of one that is gone begins with its own sums"
        );
        runs.remove_table(3, share(10.0));
        runs.add_negatives(0, 2.0);
        runs.add_passing(0, -1.0);
        runs.scale(0.5);
        assert_eq!(runs.sums(0), RunShare { spread: 5.0, passing: 4.0, negatives: 3.5 });
    }

    #[test]
    fn counts_of_a_scope_never_fall_while_it_has_tables() {
        let run = |scope, level| Run { scope: ScopeId(scope), level: Some(level) };
        let mut runs = Runs::default();
        runs.insert_table(0, run(1, 0), RunShare::default());
        runs.insert_table(1, run(1, 1), RunShare::default());
        runs.insert_table(2, run(2, 1), RunShare::default());
        runs.count_visits(0, Outcome::WastedRead, 8);
        runs.count_visits(1, Outcome::RejectedByLast, 3);
        runs.count_visits(1, Outcome::NotRead, 7);
        runs.count_loads(0, 16);
        runs.count_visits(7, Outcome::WastedRead, 1);
        let first = ScopeCounts { rejected: 3, wasted_reads: 8, passed: 7, loads: 16 };
        assert_eq!(runs.scope_counts()[&ScopeId(1)], first);
        let scope = |scope| ScopeId(scope)..ScopeId(scope + 1);
        assert_eq!(runs.counts_of(scope(1), &[0, 1]), first);
        // Its tables are compacted into another level.
        runs.remove_table(0, RunShare::default());
        assert_eq!(runs.scope_counts()[&ScopeId(1)], first);
        assert_eq!(runs.counts_of(scope(1), &[1]), first);
        // The place of the run that is gone starts over.
        runs.insert_table(3, run(2, 0), RunShare::default());
        assert_eq!(runs.scope_counts()[&ScopeId(2)], ScopeCounts::default());
        runs.remove_table(1, RunShare::default());
        assert_eq!(runs.scope_counts().keys().collect::<Vec<_>>(), [&ScopeId(2)]);
        runs.insert_table(1, run(1, 1), RunShare::default());
        assert_eq!(runs.scope_counts()[&ScopeId(1)], ScopeCounts::default());
    }

    #[test]
    fn a_scope_is_visited_until_it_is_asked_for_or_has_no_table() {
        let run = |scope, level| Run { scope: ScopeId(scope), level: Some(level) };
        let mut runs = Runs::default();
        let visit = |runs: &mut Runs, table| runs.count_visits(table, Outcome::Rejected, 1);
        let visited =
            |runs: &mut Runs| runs.take_visited().into_iter().map(|scope| scope.0).collect::<Vec<_>>();
        for (table, scope) in [(0, 1), (1, 1), (2, 2), (3, 3)] {
            runs.insert_table(table, run(scope, table as u8), RunShare::default());
        }
        [0, 1, 2, 2, 3].into_iter().for_each(|table| visit(&mut runs, table));
        runs.remove_table(3, RunShare::default());
        // The scope has another run.
        runs.remove_table(0, RunShare::default());
        assert_eq!(visited(&mut runs), [1, 2]);
        assert_eq!(visited(&mut runs), []);
        // In the place of a run that is gone.
        runs.insert_table(4, run(4, 0), RunShare::default());
        visit(&mut runs, 4);
        visit(&mut runs, 2);
        assert_eq!(visited(&mut runs), [2, 4]);
    }
}
