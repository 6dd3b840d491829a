//! The filter units of an open table: what the reader of a table holds.

use springbloom_format::Directory;
use springbloom_manager::{BytewiseOrder, Fences, KeyOrder, TableHandle, TableId, TableSpec};
use xxhash_rust::xxh3::Xxh3;

use super::{
    Tables,
    databases::ColumnFamily,
    table_location::{TableFile, TableLocation, U48},
};
use crate::identity::stored_id;

/// The identity of a table, and where its units lie.
pub(crate) struct Opening<'a> {
    pub(crate) family: &'a ColumnFamily,
    pub(crate) path: &'a [u8],
    pub(crate) session: &'a [u8],
    pub(crate) file_number: u64,
    pub(crate) level: Option<u8>,
    /// Which of its units are meant: those over prefixes, or those over keys.
    pub(crate) is_of_prefixes: bool,
    pub(crate) order: &'a dyn KeyOrder,
    pub(crate) head: &'a [u8],
    /// Where in the file the block is of which this is the head.
    pub(crate) block_offset: u64,
}

/// Why a table is read without units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenError {
    NoRoom,
    Corrupt,
    /// The block has other ones.
    NoSuchUnits,
}

/// Keeps a table's units over its keys, or over their prefixes, known to the manager while its reader is open.
pub(crate) struct OpenTable {
    pub(crate) handle: TableHandle,
}

impl OpenTable {
    pub(crate) fn open(tables: &Tables, opening: Opening<'_>) -> Result<Self, OpenError> {
        let directory = Directory::parse(opening.head).map_err(|_| OpenError::Corrupt)?;
        if directory.contents().are_prefixes() != opening.is_of_prefixes {
            return Err(OpenError::NoSuchUnits);
        }
        let ColumnFamily { database, keys, prefixes, .. } = opening.family;
        // A table has its prefixes as if they were the keys of another one.
        let (scope, order): (_, &dyn KeyOrder) =
            if opening.is_of_prefixes { (*prefixes, &BytewiseOrder) } else { (*keys, opening.order) };
        let id = table_id(&opening);
        let shapes = (0..directory.segment_count()).map(|segment| directory.shape(segment)).collect();
        let firsts = (0..directory.segment_count()).map(|segment| directory.fence(segment));
        let fences = Fences::pack(firsts, Some(directory.last_key()), order).ok_or(OpenError::Corrupt)?;
        let units_at = opening.block_offset.checked_add(directory.units_at());
        let units_at = units_at.and_then(U48::new).ok_or(OpenError::Corrupt)?;
        let stored_id = stored_id(opening.session, opening.file_number, opening.head);
        let (folder, remembered) = match &tables.warm_starts {
            Some(warm_starts) => warm_starts.open(database, opening.path, stored_id),
            None => (None, None),
        };
        let (place, number) =
            TableLocation::of(tables.engine, opening.path, database.clone(), folder.clone());
        let place = tables.files.shared_location(place);
        place.locate();
        let file = TableFile::new(number, stored_id, units_at, directory.identity());
        tables.files.unmark(id);
        if let (Some(warm_starts), Some(folder)) = (&tables.warm_starts, &folder)
            && remembered.is_none()
            && !tables.manager.knows(id)
        {
            warm_starts.note_new_table(database, folder);
        }
        let handle = tables
            .manager
            .register(TableSpec {
                id,
                scope,
                level: opening.level,
                order,
                shapes,
                fences,
                source: place,
                locator: &file.to_locator(),
                warm_start: remembered,
            })
            .ok_or(OpenError::NoRoom)?;
        Ok(Self { handle })
    }

    /// Closes the table for this reader. Its state stays for the next reader, unless the file is going away.
    pub(crate) fn close(self, tables: &Tables, obsolete: bool) {
        let Self { handle } = self;
        if !obsolete {
            return;
        }
        let id = handle.id();
        tables.files.mark_obsolete(id);
        drop(handle);
        // A warm start needs what is known of it if it is the database that is closed.
        if tables.warm_starts.is_none() {
            tables.files.forget(id);
        }
    }
}

/// Identity of the file within its database. Another database that has the file open too has a state of its own.
fn table_id(opening: &Opening<'_>) -> TableId {
    let mut hash = Xxh3::new();
    hash.update(&opening.family.database.number().to_le_bytes());
    for part in [opening.path, opening.session] {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.update(&opening.file_number.to_le_bytes());
    hash.update(&[opening.is_of_prefixes.into()]);
    TableId(hash.digest())
}
