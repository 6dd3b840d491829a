//! The filter units of an open table: what a RocksDB table reader holds.

use std::sync::Arc;

use springbloom_format::Directory;
use springbloom_manager::{
    Fences, KeyOrder, ScopeId, SegmentSpec, SegmentUse, TableHandle, TableId, TableSpec,
};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::{
    elastic::Shared,
    ffi::BlockFile,
    folders::{OpenIn, stored_id},
    source::FileSource,
};

/// Who a table is and where its units lie.
pub(crate) struct Opening<'a> {
    pub(crate) path: &'a [u8],
    pub(crate) session: &'a [u8],
    pub(crate) file_number: u64,
    pub(crate) scope: &'a [u8],
    pub(crate) level: Option<u8>,
    pub(crate) order: &'a dyn KeyOrder,
    pub(crate) head: &'a [u8],
    pub(crate) file: BlockFile,
}

/// Why a table is read without units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unopened {
    NoRoom,
    Corrupt,
}

/// Keeps a table's units known to the manager while its reader is open.
pub(crate) struct OpenTable {
    pub(crate) handle: TableHandle,
    shared: Arc<Shared>,
    id: TableId,
    /// Its place in the folder that remembers it.
    open_in: Option<OpenIn>,
}

impl OpenTable {
    pub(crate) fn open(shared: &Arc<Shared>, opening: Opening<'_>) -> Result<Self, Unopened> {
        let directory = Directory::parse(opening.head).map_err(|_| Unopened::Corrupt)?;
        let id = table_id(&opening);
        let first_units = shared.handover.take(opening.path, opening.head);
        let segments = (0..directory.segment_count())
            .map(|segment| SegmentSpec {
                shape: directory.shape(segment),
                data_bytes: directory.data_bytes(segment),
            })
            .collect();
        let firsts = (0..directory.segment_count()).map(|segment| directory.fence(segment));
        let fences =
            Fences::pack(firsts, Some(directory.last_key()), opening.order).ok_or(Unopened::Corrupt)?;
        let (open_in, remembered) = remember(shared, &opening, id);
        let source = Arc::new(FileSource::new(opening.file, directory.layout().clone()));
        shared.files.open(id, opening.path, source.clone());
        let handle = shared
            .manager
            .register(TableSpec {
                id,
                scope: ScopeId(xxh3_64(opening.scope)),
                level: opening.level,
                order: opening.order,
                segments,
                fences,
                source,
                first_units,
                remembered,
            })
            .ok_or_else(|| {
                close_file(shared, id, open_in.as_ref(), true);
                Unopened::NoRoom
            })?;
        Ok(Self { handle, shared: shared.clone(), id, open_in })
    }

    /// Closes the reader's view; the state stays for the next reader unless the file is going away.
    pub(crate) fn close(self, obsolete: bool) {
        let Self { handle, shared, id, open_in } = self;
        drop(handle);
        close_file(&shared, id, open_in.as_ref(), obsolete);
    }
}

/// What the folder remembers of the table, and the table's place in it.
fn remember(
    shared: &Shared,
    opening: &Opening<'_>,
    id: TableId,
) -> (Option<OpenIn>, Option<Vec<SegmentUse>>) {
    let Some(folders) = &shared.folders else { return (None, None) };
    folders.open(opening.path, id, stored_id(opening.session, opening.file_number, opening.head))
}

fn close_file(shared: &Shared, id: TableId, open_in: Option<&OpenIn>, obsolete: bool) {
    shared.files.close(id);
    match (&shared.folders, open_in) {
        (Some(folders), Some(open_in)) => folders.close(open_in, obsolete),
        _ if obsolete => shared.files.forget(id, &shared.manager),
        _ => (),
    }
}

/// The path alone would confuse a database with one made anew in its place, the session alone a table with its copies.
fn table_id(opening: &Opening<'_>) -> TableId {
    let mut hash = Xxh3::new();
    for part in [opening.path, opening.session] {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.update(&opening.file_number.to_le_bytes());
    TableId(hash.digest())
}
