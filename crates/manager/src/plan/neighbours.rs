//! An index of the known tables by their keys: finds those that overlap a new table.
//!
//! Each scope has a list of its tables, by level and first key. One that moves to another level waits for the next search. Keys are
//! compared byte by byte: where the host's code alone knows their order, tables are in no order here.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::keys::{BytewiseComparator, Fence, KeyRange};
use crate::memory::{grow_thriftily, shrink_thriftily, thrifty_bytes};
use crate::names::ScopeId;
use crate::plan::Run;

/// Tables of a sorted run overlap while a compaction's inputs and outputs are both known. One that reaches into a range is at most this
/// many before it.
const LOOK_BACK: usize = 64;

/// A table in the list of its scope.
#[derive(Clone, Copy, Debug)]
struct Place {
    level: Option<u8>,
    table: u32,
}

/// The tables of one scope.
#[derive(Debug, Default)]
struct Scope {
    /// By level and first key.
    places: Vec<Place>,
    /// Tables that moved to another level, those without segments, which overlap nothing, and those whose order is not bytewise.
    unsorted: Vec<u32>,
}

/// The keys of a table by its slot.
pub(crate) type Keys<'a> = dyn Fn(u32) -> Option<KeyRange<'a>> + 'a;

/// Whether a table has keys before another first key.
fn begins_before(keys: &Keys<'_>, table: u32, first: Fence<'_>) -> bool {
    keys(table).is_some_and(|range| range.first.compare(first, &BytewiseComparator) == Ordering::Less)
}

/// All known tables by their keys.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    scopes: BTreeMap<ScopeId, Scope>,
}

impl Neighbours {
    /// Bytes of a table.
    pub(crate) const TABLE_BYTES: usize = thrifty_bytes::<Place>();

    /// Adds a table. O(log tables) comparisons.
    pub(crate) fn insert(&mut self, table: u32, run: Run, keys: &Keys<'_>) {
        let Some(range) = keys(table) else { return self.insert_unsorted(table, run.scope) };
        let Scope { places, .. } = self.scopes.entry(run.scope).or_default();
        let is_before = |place: &Place| {
            place.level < run.level
                || place.level == run.level && begins_before(keys, place.table, range.first)
        };
        let at = places.partition_point(is_before);
        let length = places.len() + 1;
        grow_thriftily(places, length);
        places.insert(at, Place { level: run.level, table });
    }

    /// Adds a table whose keys cannot be compared here.
    pub(crate) fn insert_unsorted(&mut self, table: u32, scope: ScopeId) {
        let Scope { unsorted, .. } = self.scopes.entry(scope).or_default();
        let length = unsorted.len() + 1;
        grow_thriftily(unsorted, length);
        unsorted.push(table);
    }

    /// Removes a table. O(tables of the scope).
    pub(crate) fn remove(&mut self, table: u32, scope: ScopeId) {
        let Some(tables) = self.scopes.get_mut(&scope) else { return };
        tables.take_out(table);
        if tables.places.is_empty() && tables.unsorted.is_empty() {
            self.scopes.remove(&scope);
        }
    }

    /// Notes that a table moved to another level of its scope.
    pub(crate) fn move_to_another_level(&mut self, table: u32, scope: ScopeId) {
        if let Some(tables) = self.scopes.get_mut(&scope) {
            tables.take_out(table);
            tables.unsorted.push(table);
        }
    }

    /// All tables of some scopes, those last in their lists first: in this order they are removed fastest. O(log scopes + tables found).
    pub(crate) fn tables_of(&self, scopes: Range<ScopeId>) -> Vec<u32> {
        let scopes = self.scopes.range(scopes).map(|(_, scope)| scope);
        let tables = scopes.flat_map(|Scope { places, unsorted }| {
            places.iter().rev().map(|place| place.table).chain(unsorted.iter().rev().copied())
        });
        tables.collect()
    }

    /// The tables of the scope that overlap `range`: at most `most` of each level, an even sample where there are more.
    /// O(log tables + overlapping tables) comparisons for each level; in runs of single tables, O(tables).
    pub(crate) fn overlapping(
        &mut self,
        scope: ScopeId,
        range: KeyRange<'_>,
        most: usize,
        run_of: impl Fn(u32) -> Option<Run>,
        keys: &Keys<'_>,
    ) -> Vec<u32> {
        let moved = self.scopes.get_mut(&scope).map(|scope| std::mem::take(&mut scope.unsorted));
        for table in moved.into_iter().flatten() {
            run_of(table).into_iter().for_each(|run| self.insert(table, run, keys));
        }
        let mut found = Vec::new();
        let places = self.scopes.get(&scope).map_or(&[][..], |scope| &scope.places);
        for level in places.chunk_by(|a, b| a.level == b.level) {
            let run = Run { scope, level: level[0].level };
            let is_reached = |first| range.end.reaches(first, &BytewiseComparator);
            let end = level
                .partition_point(|place| keys(place.table).is_some_and(|theirs| is_reached(theirs.first)));
            let begin = level[..end].partition_point(|place| begins_before(keys, place.table, range.first));
            let begin = if run.is_of_single_tables() { 0 } else { begin.saturating_sub(LOOK_BACK) };
            let reaches = |table: &u32| {
                keys(*table).is_some_and(|theirs| theirs.end.reaches(range.first, &BytewiseComparator))
            };
            let overlapping: Vec<u32> =
                level[begin..end].iter().map(|place| place.table).filter(reaches).collect();
            found.extend(sample(&overlapping, most));
        }
        found
    }
}

/// At most `most` of them, evenly.
pub(crate) fn sample<T: Clone>(of: &[T], most: usize) -> impl Iterator<Item = T> {
    let count = of.len().min(most);
    (0..count).map(move |at| of[at * of.len() / count].clone())
}

impl Scope {
    fn take_out(&mut self, table: u32) {
        if let Some(at) = self.places.iter().rposition(|place| place.table == table) {
            self.places.remove(at);
            shrink_thriftily(&mut self.places);
        }
        if let Some(at) = self.unsorted.iter().rposition(|&unsorted| unsorted == table) {
            self.unsorted.remove(at);
            shrink_thriftily(&mut self.unsorted);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::keys::Fences;

    const LEVELS: [Option<u8>; 3] = [None, Some(0), Some(1)];

    struct Known {
        fences: Fences,
        first: u8,
        last: u8,
        run: Run,
    }

    fn known(first: u8, length: u8, run: Run) -> Known {
        let last = first.saturating_add(length);
        let fences = Fences::pack([[first]], Some(&[last]), true).unwrap();
        Known { fences, first, last, run }
    }

    struct Model {
        neighbours: Neighbours,
        tables: Vec<Option<Known>>,
    }

    impl Model {
        fn with_keys<T>(&mut self, run: impl FnOnce(&mut Neighbours, &Keys<'_>, &[Option<Known>]) -> T) -> T {
            let Self { neighbours, tables } = self;
            let keys = |table: u32| KeyRange::of_table(tables.get(table as usize)?.as_ref()?.fences.as_ref());
            run(neighbours, &keys, tables)
        }

        fn overlapping(&mut self, new: &Known, most: usize) -> Vec<u32> {
            let range = KeyRange::of_table(new.fences.as_ref()).unwrap();
            self.with_keys(|neighbours, keys, tables| {
                let run_of = |table: u32| tables[table as usize].as_ref().map(|known| known.run);
                neighbours.overlapping(new.run.scope, range, most, run_of, keys)
            })
        }

        fn insert(&mut self, table: u32, new: Known) {
            let run = new.run;
            self.tables[table as usize] = Some(new);
            self.with_keys(|neighbours, keys, _| neighbours.insert(table, run, keys));
        }
    }

    #[test]
    fn a_table_among_many_is_compared_with_few() {
        let run = Run { scope: ScopeId(1), level: Some(6) };
        let count = 20_000u32;
        let fences: Vec<_> = (0..count)
            .map(|n| Fences::pack([n.to_be_bytes()], Some(&n.to_be_bytes()), true).unwrap())
            .collect();
        let compared = std::cell::Cell::new(0);
        let keys = |table: u32| {
            compared.set(compared.get() + 1);
            KeyRange::of_table(fences.get(table as usize)?.as_ref())
        };
        let mut neighbours = Neighbours::default();
        for table in 0..count {
            let range = KeyRange::of_table(fences[table as usize].as_ref()).unwrap();
            assert!(neighbours.overlapping(run.scope, range, 9, |_| None, &keys).is_empty());
            neighbours.insert(table, run, &keys);
        }
        let each = compared.get() / count as usize;
        assert!(each < 300, "fences are asked for {each} times for each of {count} tables");
    }

    #[test]
    fn of_more_than_are_wanted_an_even_sample_is_found() {
        let run = Run { scope: ScopeId(1), level: Some(1) };
        let mut model = Model { neighbours: Neighbours::default(), tables: (0..250).map(|_| None).collect() };
        (0..250).for_each(|table| model.insert(table, known(table as u8, 0, run)));
        let found = model.overlapping(&known(0, 255, run), 100);
        let low = found.iter().filter(|&&table| table < 125).count();
        assert!(found.len() == 100 && (25..75).contains(&low), "{low} of {} are low", found.len());
    }

    #[test]
    fn a_table_without_segments_is_of_its_scope_and_overlaps_nothing() {
        let run = Run { scope: ScopeId(1), level: Some(1) };
        let mut model = Model { neighbours: Neighbours::default(), tables: (0..3).map(|_| None).collect() };
        let empty = Fences::pack([[0; 0]; 0], None, true).unwrap();
        model.insert(0, Known { fences: empty, first: 0, last: 0, run });
        (1..3).for_each(|table| model.insert(table, known(table as u8, 0, run)));
        assert_eq!(model.overlapping(&known(0, 255, run), 100).len(), 2);
        let of_scope = |model: &Model| model.neighbours.tables_of(ScopeId(1)..ScopeId(2)).len();
        assert_eq!(of_scope(&model), 3);
        model.neighbours.remove(0, run.scope);
        assert_eq!(of_scope(&model), 2);
    }

    proptest! {
        /// What is found is what overlaps, whatever comes, goes and moves.
        #[test]
        fn finds_what_overlaps(
            steps in prop::collection::vec((0..40u32, any::<u8>(), 0..30u8, 0..6usize, 0..8u8), 1..200),
        ) {
            let mut model = Model { neighbours: Neighbours::default(), tables: (0..40).map(|_| None).collect() };
            for (table, first, length, at, what) in steps {
                let run = Run { scope: ScopeId(at as u64 / 3), level: LEVELS[at % 3] };
                let slot = table as usize;
                let old = model.tables[slot].as_ref().map(|known| known.run);
                match (what, old) {
                    (0, Some(old)) => {
                        model.neighbours.remove(table, old.scope);
                        model.tables[slot] = None;
                    }
                    (1, Some(old)) => {
                        model.neighbours.move_to_another_level(table, old.scope);
                        model.tables[slot].as_mut().unwrap().run.level = run.level;
                    }
                    (2.., None) => model.insert(table, known(first, length, run)),
                    _ => (),
                }
                let asked = known(first, length, run);
                let mut found = model.overlapping(&asked, 1000);
                found.sort_unstable();
                let overlaps = |other: &Known| {
                    other.run.scope == run.scope && other.first <= asked.last && asked.first <= other.last
                };
                let expected: Vec<u32> = (0..40)
                    .filter(|&table| model.tables[table as usize].as_ref().is_some_and(overlaps))
                    .collect();
                prop_assert_eq!(found, expected);
                let scopes = run.scope..ScopeId(run.scope.0 + 1);
                let run_of = |table: u32| model.tables[table as usize].as_ref().map(|known| known.run);
                let mut found = model.neighbours.tables_of(scopes);
                found.sort_unstable();
                let is_of_scope = |table: &u32| run_of(*table).is_some_and(|of| of.scope == run.scope);
                prop_assert_eq!(found, (0..40).filter(is_of_scope).collect::<Vec<_>>());
            }
        }
    }
}
