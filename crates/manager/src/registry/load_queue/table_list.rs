//! A list of tables, first in, first out. It is linked through the tables' own entries, so it takes no memory however long it is.

use crate::registry::tables::{QueueLink, Tables};

/// Each table is in one list at most.
#[derive(Debug, Default)]
pub(crate) struct TableList {
    /// The first and the last one.
    ends: Option<(u32, u32)>,
}

fn link(tables: &mut Tables, table: u32) -> Option<&mut QueueLink> {
    tables.get_mut(table).map(|table| &mut table.queue_link)
}

impl TableList {
    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_none()
    }

    /// Adds a table that is known and in no list.
    pub(crate) fn push(&mut self, tables: &mut Tables, table: u32) {
        let Some(place) = link(tables, table).filter(|place| !place.is_linked()) else { return };
        place.link_to(None);
        let first = match self.ends {
            None => table,
            Some((first, last)) => {
                if let Some(last) = link(tables, last) {
                    last.link_to(Some(table));
                }
                first
            }
        };
        self.ends = Some((first, table));
    }

    /// Takes out the table that was added first.
    pub(crate) fn pop(&mut self, tables: &mut Tables) -> Option<u32> {
        let (first, last) = self.ends?;
        let place = link(tables, first)?;
        self.ends = place.next().map(|second| (second, last));
        place.unlink();
        Some(first)
    }

    /// Takes out a table, which is still known. `false` if it is not in this list. O(tables before it).
    pub(crate) fn remove(&mut self, tables: &mut Tables, table: u32) -> bool {
        let Some((first, last)) = self.ends else { return false };
        if first == table {
            self.pop(tables);
            return true;
        }
        let before = self.iter(tables).find(|&before| next_of(tables, before) == Some(table));
        let Some(before) = before else { return false };
        let Some(place) = link(tables, table) else { return false };
        let next = place.next();
        place.unlink();
        if let Some(place) = link(tables, before) {
            place.link_to(next);
        }
        self.ends = Some((first, if last == table { before } else { last }));
        true
    }

    pub(crate) fn iter<'a>(&self, tables: &'a Tables) -> impl Iterator<Item = u32> + use<'a> {
        std::iter::successors(self.ends.map(|(first, _)| first), |&table| next_of(tables, table))
    }
}

fn next_of(tables: &Tables, table: u32) -> Option<u32> {
    tables.get(table)?.queue_link.next()
}
