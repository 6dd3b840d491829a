//! The run of each table (its column family and level), with sums over the segments of each run. There are few runs, so a table keeps the
//! number of its run.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::interned::Interned;
use crate::memory::{grow_thriftily, thrifty_bytes};
use crate::names::ScopeId;
use crate::plan::ScopeCounts;
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

/// The run of every known table.
#[derive(Debug)]
pub(crate) struct Runs {
    known: Interned<Run>,
    /// Of the tables of each known run.
    sums: Vec<RunShare>,
    /// What happened in each known run.
    counts: Vec<ScopeCounts>,
    /// What happened in runs that are gone, of scopes that have others.
    gone: BTreeMap<ScopeId, ScopeCounts>,
    /// Scopes with visits in this period, which lasts until they are asked for.
    visited: BTreeSet<ScopeId>,
    period: u64,
    /// The period of each known run's last visit, so that most visits need no look at the set.
    last_visited: Vec<u64>,
    /// Places in `known` by table; [`NO_RUN`] for free slots.
    places: Vec<u32>,
}

const NO_RUN: u32 = u32::MAX;

impl Runs {
    /// Bytes of a table.
    pub(crate) const TABLE_BYTES: usize = thrifty_bytes::<u32>();

    pub(crate) const fn new() -> Self {
        Self {
            known: Interned::new(),
            sums: Vec::new(),
            counts: Vec::new(),
            gone: BTreeMap::new(),
            visited: BTreeSet::new(),
            period: 1,
            last_visited: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Adds a table whose segments add up to `share`. O(runs).
    pub(crate) fn insert_table(&mut self, table: u32, run: Run, share: RunShare) {
        let slot = table as usize;
        if self.places.len() <= slot {
            grow_thriftily(&mut self.places, slot + 1);
            self.places.resize(slot + 1, NO_RUN);
        }
        let place = self.known.intern(run, Run::eq);
        self.places[slot] = place;
        let places = self.sums.len().max(place as usize + 1);
        self.sums.resize(places, RunShare::default());
        self.counts.resize(places, ScopeCounts::default());
        self.last_visited.resize(places, 0);
        let sums = &mut self.sums[place as usize];
        sums.spread += share.spread;
        sums.passing += share.passing;
        sums.negatives += share.negatives;
    }

    /// Removes a table whose segments add up to `share`.
    pub(crate) fn remove_table(&mut self, table: u32, share: RunShare) {
        let place =
            self.places.get_mut(table as usize).map_or(NO_RUN, |place| std::mem::replace(place, NO_RUN));
        let Some(sums) = self.sums.get_mut(place as usize) else { return };
        sums.spread -= share.spread;
        sums.passing -= share.passing;
        sums.negatives -= share.negatives;
        let run = self.known.get(place).copied();
        _ = self.known.release(place);
        if self.known.get(place).is_none() {
            *sums = RunShare::default(); // without the error of many sums
            let counts = std::mem::take(&mut self.counts[place as usize]);
            self.last_visited[place as usize] = 0;
            if let Some(run) = run {
                self.keep_counts(run.scope, counts);
            }
        }
    }

    /// A run of the scope is gone: counts never fall while the scope has tables.
    fn keep_counts(&mut self, scope: ScopeId, counts: ScopeCounts) {
        if self.known.entries().any(|(_, run)| run.scope == scope) {
            self.gone.entry(scope).or_default().add(counts);
        } else {
            self.gone.remove(&scope);
            self.visited.remove(&scope);
        }
    }

    /// A visit to the table was taken in, which stands for `visits`.
    pub(crate) fn count_visits(&mut self, table: u32, outcome: Outcome, visits: u64) {
        let Some(place) = self.places.get(table as usize).map(|&place| place as usize) else { return };
        let Some(counts) = self.counts.get_mut(place) else { return };
        *match outcome {
            Outcome::Rejected | Outcome::RejectedByLast => &mut counts.rejected,
            Outcome::WastedRead => &mut counts.wasted_reads,
            Outcome::TruePositive | Outcome::NotRead => &mut counts.passed,
        } += visits;
        if self.last_visited[place] != self.period {
            self.last_visited[place] = self.period;
            self.visited.extend(self.known.get(place as u32).map(|run| run.scope));
        }
    }

    /// The scopes with visits since the last call, of those that have tables. O(these scopes).
    pub(crate) fn take_visited(&mut self) -> BTreeSet<ScopeId> {
        self.period += 1;
        std::mem::take(&mut self.visited)
    }

    /// Whether [`take_visited`](Self::take_visited) would give one of them.
    pub(crate) fn is_any_visited(&self, scopes: Range<ScopeId>) -> bool {
        self.visited.range(scopes).next().is_some()
    }

    /// Units of the table were read.
    pub(crate) fn count_loads(&mut self, table: u32, units: u64) {
        if let Some(counts) = self.counts_mut(table) {
            counts.loads += units;
        }
    }

    /// What happened in each scope that has tables.
    pub(crate) fn scope_counts(&self) -> BTreeMap<ScopeId, ScopeCounts> {
        let mut scopes = self.gone.clone();
        for (place, run) in self.known.entries() {
            scopes.entry(run.scope).or_default().add(self.counts[place as usize]);
        }
        scopes
    }

    /// Adds weighted visits of a segment of the table for absent keys.
    pub(crate) fn add_negatives(&mut self, table: u32, weight: f32) {
        if let Some(sums) = self.sums_mut(table) {
            sums.negatives += f64::from(weight);
        }
    }

    /// Notes that the units of a segment of the table let more or less pass.
    pub(crate) fn add_passing(&mut self, table: u32, more: f64) {
        if let Some(sums) = self.sums_mut(table) {
            sums.passing += more;
        }
    }

    /// Scales all sums, as all measured use was scaled.
    pub(crate) fn scale(&mut self, factor: f32) {
        self.sums.iter_mut().for_each(|sums| sums.negatives *= f64::from(factor));
    }

    /// Sums over the run of a table; zeros for an unknown one.
    pub(crate) fn sums(&self, table: u32) -> RunShare {
        let place = self.places.get(table as usize);
        place.and_then(|&place| self.sums.get(place as usize)).copied().unwrap_or_default()
    }

    /// What happened in some scopes, of which these are all the tables. O(tables).
    pub(crate) fn counts_of(&self, scopes: Range<ScopeId>, tables: &[u32]) -> ScopeCounts {
        let mut sum = ScopeCounts::default();
        self.gone.range(scopes).for_each(|(_, counts)| sum.add(*counts));
        let places: BTreeSet<_> =
            tables.iter().filter_map(|&table| self.places.get(table as usize)).collect();
        let counts = places.into_iter().filter_map(|&place| self.counts.get(place as usize));
        counts.for_each(|counts| sum.add(*counts));
        sum
    }

    fn counts_mut(&mut self, table: u32) -> Option<&mut ScopeCounts> {
        let place = *self.places.get(table as usize)?;
        self.counts.get_mut(place as usize)
    }

    fn sums_mut(&mut self, table: u32) -> Option<&mut RunShare> {
        let place = *self.places.get(table as usize)?;
        self.sums.get_mut(place as usize)
    }

    /// The run of a table; `None` for an unknown one.
    pub(crate) fn of(&self, table: u32) -> Option<Run> {
        let place = *self.places.get(table as usize)?;
        self.known.get(place).copied()
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
        let mut runs = Runs::new();
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
        let mut runs = Runs::new();
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
        let mut runs = Runs::new();
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
