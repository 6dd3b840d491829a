//! The run of each table: its column family and level. There are few, so a table keeps a number.

use crate::ScopeId;
use crate::interned::Interned;
use crate::memory::{grow_thriftily, thrifty_bytes};

/// A level of a scope, as the host told it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub scope: ScopeId,
    pub level: Option<u8>,
}

impl Run {
    /// Whether each of its tables is a sorted run of its own: tables of level 0 overlap, and those of an unknown level may.
    pub(crate) fn is_of_single_tables(self) -> bool {
        matches!(self.level, None | Some(0))
    }
}

/// The run of every known table.
#[derive(Debug)]
pub(crate) struct Runs {
    known: Interned<Run>,
    /// Keys of the tables of each known run.
    keys: Vec<u64>,
    /// Places in `known` by table; [`NO_RUN`] for free slots.
    places: Vec<u32>,
}

const NO_RUN: u32 = u32::MAX;

impl Runs {
    /// Bytes of a table.
    pub(crate) const TABLE_BYTES: usize = thrifty_bytes::<u32>();

    pub(crate) const fn new() -> Self {
        Self { known: Interned::new(), keys: Vec::new(), places: Vec::new() }
    }

    /// Takes in a table that is not known, with so many keys. O(runs).
    pub(crate) fn insert_table(&mut self, table: u32, run: Run, keys: u64) {
        let slot = table as usize;
        if self.places.len() <= slot {
            grow_thriftily(&mut self.places, slot + 1);
            self.places.resize(slot + 1, NO_RUN);
        }
        let place = self.known.enter(run, Run::eq);
        self.places[slot] = place;
        self.keys.resize(self.keys.len().max(place as usize + 1), 0);
        self.keys[place as usize] += keys;
    }

    /// Forgets a table, which has so many keys.
    pub(crate) fn remove_table(&mut self, table: u32, keys: u64) {
        let place =
            self.places.get_mut(table as usize).map_or(NO_RUN, |place| std::mem::replace(place, NO_RUN));
        if let Some(run_keys) = self.keys.get_mut(place as usize) {
            *run_keys -= keys;
            self.known.leave(place);
        }
    }

    /// Keys of all tables in the run of a table; 0 for an unknown one.
    pub(crate) fn keys(&self, table: u32) -> u64 {
        let place = self.places.get(table as usize);
        place.and_then(|&place| self.keys.get(place as usize)).copied().unwrap_or(0)
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
        let mut runs = Runs::new();
        runs.insert_table(3, run(1, Some(2)), 10);
        runs.insert_table(0, run(1, Some(2)), 5);
        runs.insert_table(1, run(2, None), 7);
        assert_eq!((runs.of(0), runs.of(2), runs.of(9)), (Some(run(1, Some(2))), None, None));
        assert_eq!((runs.keys(0), runs.keys(3), runs.keys(1), runs.keys(2), runs.keys(9)), (15, 15, 7, 0, 0));
        runs.remove_table(1, 7);
        runs.remove_table(1, 7);
        runs.insert_table(5, run(3, Some(0)), 1);
        assert_eq!((runs.of(5), runs.of(1)), (Some(run(3, Some(0))), None));
        assert_eq!(
            runs.keys(5),
            1,
            "a run that takes the place of one that is gone begins with its own keys"
        );
        runs.remove_table(3, 10);
        assert_eq!(runs.keys(0), 5);
    }
}
