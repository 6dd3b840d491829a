//! A list of tables, first in, first out. It is linked through the registry's own entries, so it takes no memory however long it is.

use super::table::{QueueLink, Table};

/// Each table is in one list at most.
#[derive(Debug, Default)]
pub(super) struct TableList {
    /// The first and the last one.
    ends: Option<(u32, u32)>,
}

fn link(tables: &mut [Option<Table>], table: u32) -> Option<&mut QueueLink> {
    tables.get_mut(table as usize)?.as_mut().map(|table| &mut table.queue_link)
}

impl TableList {
    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_none()
    }

    /// Adds a table that is known and in no list.
    pub(super) fn push(&mut self, tables: &mut [Option<Table>], table: u32) {
        let Some(place) = link(tables, table).filter(|place| !place.is_noted()) else { return };
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
    pub(super) fn pop(&mut self, tables: &mut [Option<Table>]) -> Option<u32> {
        let (first, last) = self.ends?;
        let place = link(tables, first)?;
        self.ends = place.next().map(|second| (second, last));
        place.unlink();
        Some(first)
    }

    /// Takes out a table, which is still known. `false` if it is not in this list. O(tables before it).
    pub(super) fn remove(&mut self, tables: &mut [Option<Table>], table: u32) -> bool {
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

    pub(super) fn iter<'a>(&self, tables: &'a [Option<Table>]) -> impl Iterator<Item = u32> + use<'a> {
        std::iter::successors(self.ends.map(|(first, _)| first), |&table| next_of(tables, table))
    }
}

fn next_of(tables: &[Option<Table>], table: u32) -> Option<u32> {
    tables.get(table as usize)?.as_ref()?.queue_link.next()
}
