//! An open table: what the reader of a table holds from its opening to its closing.
//!
//! Only an open one has units; nothing but the manager's load queue opens one that waits. Who reads has a share of all that the read uses.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use springbloom_filter::GroupShape;
use springbloom_format::{Contents, Directory};
use springbloom_manager::{
    BytewiseComparator, Comparator, Fences, Reservation, TableHandle, TableId, TableSpec, WaitingTable,
    WaitsFor, allocated_bytes,
};

use super::{
    Tables,
    databases::ColumnFamily,
    table_life::TableLife,
    table_location::{TableFile, TableLocation},
};
use crate::{
    engine::{OpenFile, OwnedHead},
    identity::stored_id,
    warm_start::folder::Remembered,
};

/// What a table is opened with, except for its directory.
pub(crate) struct Opening {
    pub(crate) tables: Arc<Tables>,
    pub(crate) family: Arc<ColumnFamily>,
    pub(crate) path: Box<Path>,
    pub(crate) file_number: u64,
    pub(crate) level: Option<u8>,
    /// Whether its units over prefixes are meant.
    pub(crate) is_of_prefixes: bool,
    /// Whether keys are in the order of their bytes. The engine's order is called by the thread that opens the table, and in lookups.
    pub(crate) is_bytewise: bool,
    pub(crate) file: OpenFile,
    /// Of its index in memory, about; 0: the budget does not pay for it.
    pub(crate) index_bytes: usize,
    /// In the load queue.
    pub(crate) number: AtomicU64,
}

/// Why a table is read without units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenError {
    NoRoom = 1,
    Corrupt = 2,
    Unreadable = 4,
    /// The block has other ones.
    NoSuchUnits = 5,
}

impl OpenError {
    /// Of `springbloom_abi.h`.
    pub(crate) fn of_code(code: i32) -> Self {
        match code {
            1 => Self::NoRoom,
            2 => Self::Corrupt,
            5 => Self::NoSuchUnits,
            _ => Self::Unreadable,
        }
    }

    pub(crate) fn code(self) -> i32 {
        self as i32
    }

    /// What was read may be damaged, and not the file: then it is read again.
    fn waits_for(self) -> Option<WaitsFor> {
        match self {
            Self::NoRoom => Some(WaitsFor::Room),
            Self::Unreadable | Self::Corrupt => Some(WaitsFor::File),
            Self::NoSuchUnits => None,
        }
    }
}

/// `sb_table`: a table's units over its keys, or over their prefixes.
pub(crate) enum OpenTable {
    /// It was opened at once.
    Open(TableHandle),
    /// It waits, or has waited.
    Late(Arc<LateTable>),
}

/// A table that could not be opened at once. Once it is open, it has a reservation for itself.
pub(crate) type LateTable = TableLife<Opening, (TableHandle, Reservation)>;

/// Opens a table with this directory and order of keys. If it is not open then, it waits, unless it never will have such units. Gives why
/// it waits.
pub(crate) fn open(
    opening: Opening,
    comparator: &dyn Comparator,
    head: Result<OwnedHead, OpenError>,
) -> (Option<OpenTable>, Result<(), OpenError>) {
    let prepared = head.and_then(|head| Prepared::of(&opening, &head));
    let why = match prepared.and_then(|prepared| prepared.register(&opening, Some(comparator), 0)) {
        Ok((handle, _)) => return (Some(OpenTable::Open(handle)), Ok(())),
        Err(why) => why,
    };
    let table = why.waits_for().map(|waits_for| {
        let (manager, place) = (opening.tables.manager.clone(), opening.family.database.place());
        let table = Arc::new(LateTable::waiting(opening));
        let number = manager.wait_to_open(table.clone(), place, waits_for);
        table.while_waiting(|opening| opening.number.store(number, Ordering::Relaxed));
        OpenTable::Late(table)
    });
    (table, Err(why))
}

impl OpenTable {
    /// For lookups; `None` while it is not open.
    #[inline]
    pub(crate) fn handle(&self) -> Option<&TableHandle> {
        match self {
            Self::Open(handle) => Some(handle),
            Self::Late(table) => table.handle(),
        }
    }

    /// It gets no units any more, if it has none. Does not wait for a read.
    pub(crate) fn give_up(&self) {
        if let Self::Late(table) = self
            && let Some(waited) = table.stop_waiting()
        {
            waited.tables.manager.stop_waiting(waited.number.load(Ordering::Relaxed));
        }
    }

    /// Closes the table for this reader. Its state stays for the next reader, unless the file is going away. Does not wait for a read.
    pub(crate) fn close(self, tables: &Tables, obsolete: bool) {
        self.give_up();
        let Some(handle) = self.handle() else { return };
        drop(tables.files_by_slot.remove(handle.slot()));
        let id = handle.id();
        if obsolete {
            tables.mark_obsolete(id);
        }
        // Also the handle, unless the thread that opened it lets go of it only now.
        drop(self);
        // A warm start needs what is known of it if it is the database that is closed.
        if obsolete && !tables.has_warm_starts {
            tables.manager.forget_closed(id);
            tables.drop_unknown(id);
        }
    }
}

impl LateTable {
    /// What one takes by malloc, behind its reference counts.
    fn allocated_bytes() -> usize {
        const COUNTS: usize = 2 * size_of::<usize>();
        allocated_bytes(COUNTS + size_of::<Self>())
    }

    /// For lookups; `None` while it is not open.
    #[inline]
    pub(crate) fn handle(&self) -> Option<&TableHandle> {
        self.units().map(|(handle, _)| handle)
    }
}

impl WaitingTable for LateTable {
    fn open(&self) -> Option<WaitsFor> {
        let family = self.while_waiting(|opening| opening.family.clone())?;
        let read = |opening: &Opening| {
            let head = opening.file.read_head(opening.is_of_prefixes).map_err(OpenError::of_code);
            head.and_then(|head| Prepared::of(opening, &head)).map_err(OpenError::waits_for)
        };
        let register = |prepared: Prepared, opening: &Opening| {
            let comparator = opening.is_bytewise.then_some(&BytewiseComparator as &dyn Comparator);
            prepared.register(opening, comparator, Self::allocated_bytes()).map_err(OpenError::waits_for)
        };
        // All shares in files end in there.
        family.database.files.enter(|| self.try_to_open(read, register)).flatten()
    }
}

/// What is found out of a table before it is registered. To find it out may touch files.
struct Prepared {
    shapes: Vec<GroupShape>,
    fences: Fences,
    id: TableId,
    file: TableFile,
    location: Arc<TableLocation>,
    remembered: Option<Remembered>,
}

impl Prepared {
    fn of(opening: &Opening, head: &OwnedHead) -> Result<Self, OpenError> {
        let directory = Directory::parse(&head.bytes).map_err(|_| OpenError::Corrupt)?;
        if (directory.contents() == Contents::Prefixes) != opening.is_of_prefixes {
            return Err(OpenError::NoSuchUnits);
        }
        let segments = || 0..directory.segment_count();
        let firsts: Vec<_> = segments().map(|segment| directory.fence(segment)).collect();
        let fences = Fences::pack(firsts, Some(directory.last_key()), opening.is_bytewise);
        let fences = fences.ok_or(OpenError::Corrupt)?;
        let (tables, database) = (&opening.tables, &opening.family.database);
        // An engine opens no table of a database by another name.
        let named = tables.engine.folder_and_number(&opening.path);
        let (path, number) = named.ok_or(OpenError::NoSuchUnits)?;
        let units_at = head.block_offset.saturating_add(directory.units_at());
        let file = TableFile::new(number, units_at, directory.identity()).ok_or(OpenError::Corrupt)?;
        let location = tables.location(database, path).ok_or(OpenError::Unreadable)?;
        let folder = location.folder.as_ref();
        let stored_id = stored_id(&head.session, opening.file_number, &head.bytes);
        let remembered = folder.and_then(|folder| folder.remembered(&tables.manager, stored_id, number));
        let id = location.id_of(&file, stored_id);
        if let Some(folder) = folder
            && remembered.is_none()
            && !tables.manager.knows(id)
            && folder.has_file()
        {
            // Its file does not tell of the table.
            folder.note_change();
        }
        location.locate();
        Ok(Self {
            shapes: segments().map(|segment| directory.shape(segment)).collect(),
            fences,
            id,
            file,
            location,
            remembered,
        })
    }

    /// Touches no file. Gives the handle, and `more_bytes` of the budget.
    fn register(
        self,
        opening: &Opening,
        comparator: Option<&dyn Comparator>,
        more_bytes: usize,
    ) -> Result<(TableHandle, Reservation), OpenError> {
        let Self { shapes, fences, id, file, location, remembered } = self;
        opening.tables.unmark(id);
        let locator = file.to_locator();
        let (entry, warm_start) = remembered.map(|Remembered { key, segments }| (key, segments)).unzip();
        let spec = TableSpec {
            id,
            scope: opening.family.scope(opening.is_of_prefixes),
            level: opening.level,
            comparator,
            shapes,
            fences,
            source: location.clone(),
            locator: &locator,
            index_bytes: opening.index_bytes,
            warm_start,
        };
        let registered = opening.tables.manager.register_with(spec, more_bytes);
        let (handle, reservation) = registered.ok_or(OpenError::NoRoom)?;
        if let (Some(entry), Some(folder)) = (entry, &location.folder) {
            folder.forget(entry);
        }
        opening.tables.files_by_slot.add(handle.slot(), opening.file.clone());
        Ok((handle, reservation))
    }
}
