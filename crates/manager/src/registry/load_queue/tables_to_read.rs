//! Tables to read. Sources take turns: a slow device, whose tables wait for long, keeps no other waiting.

use std::collections::VecDeque;

use super::table_list::TableList;
use crate::registry::tables::Tables;

/// Those of all sources, those of each first in, first out.
#[derive(Default)]
pub(crate) struct TablesToRead {
    /// In the order of their turns. None is empty.
    sources: VecDeque<(u32, TableList)>,
}

impl TablesToRead {
    /// Adds a table, if it is known and in no list. O(sources).
    pub(crate) fn push(&mut self, tables: &mut Tables, table: u32) {
        let Some(known) = tables.get(table).filter(|known| !known.queue_link.is_linked()) else { return };
        let source = known.source;
        let known = self.sources.iter().position(|&(known, _)| known == source);
        let at = known.unwrap_or_else(|| {
            self.sources.push_back((source, TableList::default()));
            self.sources.len() - 1
        });
        self.sources[at].1.push(tables, table);
    }

    /// Takes out the table that was added first, of the source whose turn it is among those that may be read.
    pub(crate) fn pop(
        &mut self,
        tables: &mut Tables,
        may_read: impl Fn(&Tables, u32) -> bool,
    ) -> Option<u32> {
        let at = self.sources.iter().position(|&(source, _)| may_read(tables, source))?;
        let (source, mut list) = self.sources.remove(at)?;
        let table = list.pop(tables);
        if !list.is_empty() {
            self.sources.push_back((source, list));
        }
        table
    }

    /// Takes out a table, which is still known. `false` if it is not here. O(tables to read).
    pub(crate) fn remove(&mut self, tables: &mut Tables, table: u32) -> bool {
        let was_here = self.sources.iter_mut().any(|(_, list)| list.remove(tables, table));
        self.sources.retain(|(_, list)| !list.is_empty());
        was_here
    }

    /// Whether it has a table of a source that may be read.
    pub(crate) fn has_any(&self, may_read: impl Fn(u32) -> bool) -> bool {
        self.sources.iter().any(|&(source, _)| may_read(source))
    }
}
