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

/// The run of every known table.
#[derive(Debug)]
pub(crate) struct Runs {
    known: Interned<Run>,
    /// Places in `known` by table; [`NO_RUN`] for free slots.
    places: Vec<u32>,
}

const NO_RUN: u32 = u32::MAX;

impl Runs {
    /// Bytes of a table.
    pub(crate) const TABLE_BYTES: usize = thrifty_bytes::<u32>();

    pub(crate) const fn new() -> Self {
        Self { known: Interned::new(), places: Vec::new() }
    }

    /// Takes in a table that is not known. O(runs).
    pub(crate) fn insert_table(&mut self, table: u32, run: Run) {
        let slot = table as usize;
        if self.places.len() <= slot {
            grow_thriftily(&mut self.places, slot + 1);
            self.places.resize(slot + 1, NO_RUN);
        }
        self.places[slot] = self.known.enter(run, Run::eq);
    }

    /// Forgets a table.
    pub(crate) fn remove_table(&mut self, table: u32) {
        if let Some(place) = self.places.get_mut(table as usize) {
            self.known.leave(std::mem::replace(place, NO_RUN));
        }
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
        runs.insert_table(3, run(1, Some(2)));
        runs.insert_table(0, run(1, Some(2)));
        runs.insert_table(1, run(2, None));
        assert_eq!((runs.of(0), runs.of(2), runs.of(9)), (Some(run(1, Some(2))), None, None));
        runs.remove_table(1);
        runs.remove_table(1);
        runs.insert_table(5, run(3, Some(0)));
        assert_eq!((runs.of(5), runs.of(1)), (Some(run(3, Some(0))), None));
    }
}
