//! The filter of a table: its head, and what all filters of the table share.

use std::sync::{Arc, OnceLock};

use bytes::{BufMut, Bytes};
use slatedb::{Filter, FilterQuery, FilterTarget, PrefixTarget};
use springbloom_filter::KeyDigest;
use springbloom_manager::BytewiseComparator;

use crate::{database::Database, head, known_tables::Known, range::shared_prefix, reads, reads::Passed};

/// Clones of SlateDB's share it.
#[derive(Clone)]
pub(crate) struct Table(Arc<Shared>);

struct Shared {
    database: Arc<Database>,
    /// As SlateDB stores it.
    head: Box<[u8]>,
    /// `None`: it is no head.
    known: OnceLock<Option<Arc<Known>>>,
}

/// What one takes in SlateDB's cache in addition to its head.
const TABLE_BYTES: usize = size_of::<Shared>() + 4 * size_of::<usize>();

impl Table {
    /// The filter of a table that was just built. It may never be asked, as in a compactor, and so the table is not known yet.
    pub(crate) fn built(database: Arc<Database>, head: Vec<u8>) -> Self {
        Self(Arc::new(Shared { database, head: head.into(), known: OnceLock::new() }))
    }

    /// The filter of a table that is about to be asked.
    pub(crate) fn read(database: Arc<Database>, head: &[u8]) -> Self {
        let table = Self::built(database, head.to_vec());
        table.0.known();
        table
    }
}

impl Shared {
    fn known(&self) -> Option<&Known> {
        // Where SlateDB keeps no filters, each lookup makes one of each table. They share this.
        let find = || Some(self.database.tables.get_or_insert(head::place(&self.head)?.0.name));
        let known = self.known.get_or_init(find).as_deref()?;
        known.open_now_and_then(&self.database.tables, || {
            let (place, directory) = head::decode(&self.head, self.over_prefixes())?;
            self.database.open(&place, &directory)
        });
        Some(known)
    }

    fn over_prefixes(&self) -> bool {
        self.database.extractor().is_some()
    }

    /// What the filter has in place of what is asked for: a key or a prefix. `None`: it cannot tell.
    fn entry_of(&self, target: &FilterTarget) -> Option<Bytes> {
        let prefix = match target {
            FilterTarget::Point(key) => return (!self.over_prefixes()).then(|| key.clone()),
            FilterTarget::Prefix(prefix) => prefix.clone(),
            FilterTarget::Range { lower, upper } => shared_prefix(lower, upper)?,
        };
        let length = self.database.prefix_of(&PrefixTarget::Prefix(prefix.clone()), &prefix)?.len();
        Some(prefix.slice(..length))
    }
}

impl Filter for Table {
    fn might_match(&self, query: &FilterQuery) -> bool {
        let Self(shared) = self;
        let Some(entry) = shared.entry_of(&query.target) else { return true };
        let Some(known) = shared.known() else { return true };
        shared.database.tables.count_question(known);
        let open = known.open();
        let Some(open) = &*open else { return true };
        let segment = open.handle.segment_of(&entry, &BytewiseComparator);
        let Some(absent) = open.absent(segment) else { return true };
        let units = open.handle.resident_units(segment);
        let is_told = reads::is_told();
        match open.handle.rejection(segment, KeyDigest::of(&entry)) {
            Some(rejection) => {
                match is_told {
                    true => absent.told(true),
                    false if units > 0 => absent.rejected(units),
                    false => (),
                }
                open.handle.record(segment, rejection);
                false
            }
            None => {
                match is_told {
                    true => reads::note(Passed { open: open.clone(), segment, units }),
                    false => open.handle.record(segment, absent.passed(units)),
                }
                true
            }
        }
    }

    fn encode(&self, writer: &mut dyn BufMut) {
        writer.put_slice(&self.0.head);
    }

    fn size(&self) -> usize {
        self.0.head.len() + TABLE_BYTES
    }

    fn clamp_allocated_size(&self) -> Arc<dyn Filter> {
        Arc::new(self.clone())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(Some(known)) = self.known.take() {
            self.database.tables.let_go(known);
        }
    }
}
