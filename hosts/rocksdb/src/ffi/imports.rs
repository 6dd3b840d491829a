//! Safe functions over the C++ functions that Rust calls.

use std::{
    ffi::{c_char, c_int, c_void},
    path::Path,
    ptr,
    sync::Arc,
};

use rocksdb::AsRawPtr;
use springbloom_host_core::{Bytes, Engine, Filters};

use super::{
    facts::{FamilyStatus, IndexOptions, IndexSize, ListedTable, TracedFamily},
    types::{InspectSink, RawCacheTrace, RawIndexOptions, RawListedTable, RawStatus, TableInfo},
};

unsafe extern "C" {
    safe static springbloom_engine: Engine;
    fn springbloom_install(
        options: *mut c_void,
        filters: *const c_void,
        error: *mut c_char,
        size: usize,
    ) -> c_int;
    fn springbloom_installed(options: *mut c_void) -> *const c_void;
    fn springbloom_status(
        db: *mut c_void,
        family: *mut c_void,
        filters: *const c_void,
        status: *mut RawStatus,
        error: *mut c_char,
        size: usize,
    ) -> c_int;
    fn springbloom_inspect_table(
        path: Bytes,
        sink: *const InspectSink,
        error: *mut c_char,
        size: usize,
    ) -> c_int;
    fn springbloom_measure_indexes(
        path: Bytes,
        data_bytes: u64,
        indexes: *const RawIndexOptions,
        sizes: *mut IndexSize,
        count: usize,
        error: *mut c_char,
        size: usize,
    ) -> c_int;
    fn springbloom_read_cache_trace(
        path: Bytes,
        context: *mut c_void,
        take: unsafe extern "C" fn(*mut c_void, *const RawCacheTrace),
        error: *mut c_char,
        size: usize,
    ) -> c_int;
    fn springbloom_list_tables(
        path: Bytes,
        context: *mut c_void,
        take: unsafe extern "C" fn(*mut c_void, *const RawListedTable),
        error: *mut c_char,
        size: usize,
    ) -> c_int;
}

/// RocksDB's description for the core.
pub(crate) fn engine() -> &'static Engine {
    &springbloom_engine
}

/// Calls a function that returns 0, or writes a message to the buffer that it is given.
fn checked(call: impl FnOnce(*mut c_char, usize) -> c_int) -> Result<(), String> {
    let mut message = [0u8; 512];
    if call(message.as_mut_ptr().cast(), message.len()) == 0 { Ok(()) } else { Err(message_of(&message)) }
}

/// The text that C++ wrote to a buffer, up to its NUL.
fn message_of(buffer: &[u8]) -> String {
    let end = buffer.iter().position(|&byte| byte == 0).unwrap_or(buffer.len());
    String::from_utf8_lossy(&buffer[..end]).into_owned()
}

pub(crate) fn install(options: &mut rocksdb::Options, filters: &Arc<Filters>) -> Result<(), String> {
    // SAFETY: the options live through the call; C++ retains `filters` for itself (sb_filters_retain).
    checked(|error, size| unsafe {
        springbloom_install(options.as_raw_ptr().cast(), Arc::as_ptr(filters).cast(), error, size)
    })
}

/// Whether options have filter units of another instance.
pub(crate) fn is_another_installed(options: &mut rocksdb::Options, filters: &Arc<Filters>) -> bool {
    // SAFETY: the options live through the call.
    let installed = unsafe { springbloom_installed(options.as_raw_ptr().cast()) };
    !installed.is_null() && installed != Arc::as_ptr(filters).cast()
}

/// Of a column family of the database; the default one if none is given.
pub(crate) fn status(
    db: &rocksdb::DB,
    family: Option<*mut librocksdb_sys::rocksdb_column_family_handle_t>,
    filters: &Arc<Filters>,
) -> Result<FamilyStatus, String> {
    let mut raw = RawStatus::default();
    let family = family.map_or(ptr::null_mut(), |family| family.cast());
    // SAFETY: the database and its column family live through the call, which writes `raw` alone.
    checked(|error, size| unsafe {
        springbloom_status(
            db.as_raw_ptr().cast(),
            family,
            Arc::as_ptr(filters).cast(),
            &raw mut raw,
            error,
            size,
        )
    })?;
    let RawStatus { is_active, tables_with_units, tables_without_units, index_block_restart_interval } = raw;
    Ok(FamilyStatus {
        is_active: is_active != 0,
        tables_with_units,
        tables_without_units,
        index_block_restart_interval,
    })
}

/// Reads a table file.
#[derive(Debug, Default)]
pub(crate) struct Inspected {
    pub(crate) file_bytes: u64,
    pub(crate) entries: u64,
    pub(crate) data_bytes: u64,
    pub(crate) filter_bytes: u64,
    pub(crate) index_bytes: u64,
    pub(crate) filter_policy: String,
    pub(crate) session: Vec<u8>,
    pub(crate) orig_file_number: u64,
    /// Where the block of filter units is; 0 without one.
    pub(crate) block_offset: u64,
    pub(crate) block_bytes: u64,
    pub(crate) raw_bytes: u64,
    pub(crate) data_blocks: u64,
    /// First bytes of that block: its header and directory, if it is sound.
    pub(crate) head: Option<Vec<u8>>,
}

/// RocksDB would wait for the writer of a pipe.
fn require_regular(path: &Path) -> Result<(), String> {
    match path.metadata() {
        Ok(found) if !found.is_file() => Err("it is not a regular file".into()),
        _ => Ok(()),
    }
}

pub(crate) fn inspect_table(path: &Path) -> Result<Inspected, String> {
    require_regular(path)?;
    unsafe extern "C" fn on_table(context: *mut c_void, info: *const TableInfo) {
        // SAFETY: `context` is the `Inspected` below; the info and its names live through the call.
        let (inspected, info) = unsafe { (&mut *context.cast::<Inspected>(), &*info) };
        // SAFETY: as above.
        let (filter_policy, session) = unsafe { (info.filter_policy.get(), info.session.get()) };
        *inspected = Inspected {
            file_bytes: info.file_bytes,
            entries: info.entries,
            data_bytes: info.data_bytes,
            filter_bytes: info.filter_bytes,
            index_bytes: info.index_bytes,
            filter_policy: String::from_utf8_lossy(filter_policy).into_owned(),
            session: session.to_vec(),
            orig_file_number: info.orig_file_number,
            block_offset: info.block_offset,
            block_bytes: info.block_bytes,
            raw_bytes: info.raw_bytes,
            data_blocks: info.data_blocks,
            head: None,
        };
    }
    unsafe extern "C" fn on_head(context: *mut c_void, head: Bytes) {
        // SAFETY: `context` is the `Inspected` below, the bytes live through the call.
        let (inspected, head) = unsafe { (&mut *context.cast::<Inspected>(), head.get()) };
        inspected.head = Some(head.to_vec());
    }
    let mut inspected = Inspected::default();
    let sink = InspectSink { context: (&raw mut inspected).cast(), table: on_table, head: on_head };
    let path = Bytes::of(path.as_os_str().as_encoded_bytes());
    // SAFETY: path and sink live through the call, and nothing else touches `inspected` meanwhile.
    checked(|error, size| unsafe { springbloom_inspect_table(path, &sink, error, size) })?;
    Ok(inspected)
}

/// What the index of the first `data_bytes` of a table would take with each of the options.
pub(crate) fn measure_indexes(
    path: &Path,
    data_bytes: u64,
    indexes: &[IndexOptions],
) -> Result<Vec<IndexSize>, String> {
    require_regular(path)?;
    let indexes: Vec<_> = indexes.iter().map(RawIndexOptions::from).collect();
    let mut sizes = vec![IndexSize::default(); indexes.len()];
    let path = Bytes::of(path.as_os_str().as_encoded_bytes());
    // SAFETY: path and both arrays live through the call; the arrays are equally long.
    checked(|error, size| unsafe {
        springbloom_measure_indexes(
            path,
            data_bytes,
            indexes.as_ptr(),
            sizes.as_mut_ptr(),
            sizes.len(),
            error,
            size,
        )
    })?;
    Ok(sizes)
}

/// The tables that a MANIFEST lists, by column family.
pub(crate) fn list_tables(manifest: &Path) -> Result<Vec<ListedTable>, String> {
    require_regular(manifest)?;
    unsafe extern "C" fn on_table(context: *mut c_void, table: *const RawListedTable) {
        // SAFETY: `context` is the list below; the table and its name live through the call.
        let (tables, table) = unsafe { (&mut *context.cast::<Vec<ListedTable>>(), &*table) };
        // SAFETY: as above.
        let family = String::from_utf8_lossy(unsafe { table.family.get() });
        let same = tables.last().map(|last| &last.column_family).filter(|last| ***last == *family);
        let column_family = same.map_or_else(|| Arc::from(&*family), Arc::clone);
        tables.push(ListedTable { column_family, level: table.level, number: table.number });
    }
    let mut tables = Vec::new();
    let context = (&raw mut tables).cast();
    let path = Bytes::of(manifest.as_os_str().as_encoded_bytes());
    // SAFETY: the path lives through the call, and nothing else touches `tables` meanwhile.
    checked(|error, size| unsafe { springbloom_list_tables(path, context, on_table, error, size) })?;
    Ok(tables)
}

/// The column families in a block cache trace.
pub(crate) fn read_cache_trace(trace: &Path) -> Result<Vec<TracedFamily>, String> {
    require_regular(trace)?;
    unsafe extern "C" fn on_family(context: *mut c_void, raw: *const RawCacheTrace) {
        // SAFETY: `context` is the list below; the family and its name live through the call.
        let (families, raw) = unsafe { (&mut *context.cast::<Vec<TracedFamily>>(), &*raw) };
        // SAFETY: as above.
        let name = String::from_utf8_lossy(unsafe { raw.family.get() }).into_owned();
        let RawCacheTrace { lookups, data, index, filters, .. } = *raw;
        families.push(TracedFamily { name, lookups, data, index, filters });
    }
    let mut families = Vec::new();
    let context = (&raw mut families).cast();
    let path = Bytes::of(trace.as_os_str().as_encoded_bytes());
    // SAFETY: the path lives through the call, and nothing else touches `families` meanwhile.
    checked(|error, size| unsafe { springbloom_read_cache_trace(path, context, on_family, error, size) })?;
    Ok(families)
}
