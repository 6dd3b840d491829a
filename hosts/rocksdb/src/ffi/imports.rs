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
    facts::{FamilyStatus, IndexOptions, IndexSize},
    types::{RawListedTable, RawLookup, TableInfo},
};

type Take<T> = unsafe extern "C" fn(*mut c_void, &T);

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
        status: *mut FamilyStatus,
        error: *mut c_char,
        size: usize,
    ) -> c_int;
    fn springbloom_inspect_table(
        path: Bytes<'_>,
        context: *mut c_void,
        take: Take<TableInfo<'_>>,
        error: *mut c_char,
        size: usize,
    ) -> c_int;
    fn springbloom_look_up(
        path: Bytes<'_>,
        key: Bytes<'_>,
        reversed: bool,
        found: *mut RawLookup,
        error: *mut c_char,
        size: usize,
    ) -> c_int;
    fn springbloom_measure_indexes(
        path: Bytes<'_>,
        data_bytes: u64,
        indexes: *const IndexOptions,
        sizes: *mut IndexSize,
        count: usize,
        error: *mut c_char,
        size: usize,
    ) -> c_int;
    fn springbloom_list_tables(
        path: Bytes<'_>,
        context: *mut c_void,
        take: Take<RawListedTable<'_>>,
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
    let mut status = FamilyStatus::default();
    let family = family.map_or(ptr::null_mut(), |family| family.cast());
    // SAFETY: the database and its column family live through the call, which writes `status` alone.
    checked(|error, size| unsafe {
        springbloom_status(
            db.as_raw_ptr().cast(),
            family,
            Arc::as_ptr(filters).cast(),
            &raw mut status,
            error,
            size,
        )
    })?;
    Ok(status)
}

/// Calls a function for the file at `path`, which passes what it finds to `take`.
fn read_file<T, F: FnMut(&T)>(
    path: &Path,
    mut take: F,
    read: unsafe extern "C" fn(Bytes<'_>, *mut c_void, Take<T>, *mut c_char, usize) -> c_int,
) -> Result<(), String> {
    unsafe extern "C" fn pass<T, F: FnMut(&T)>(take: *mut c_void, found: &T) {
        // SAFETY: it is the `take` below, which nothing else uses meanwhile.
        unsafe { (*take.cast::<F>())(found) }
    }
    let bytes = path_of(path)?;
    // SAFETY: `pass` takes the context, and both live through the call.
    checked(|error, size| unsafe { read(bytes, (&raw mut take).cast(), pass::<T, F>, error, size) })
}

/// RocksDB would wait for the writer of a pipe.
fn path_of(path: &Path) -> Result<Bytes<'_>, String> {
    match path.metadata() {
        Ok(found) if !found.is_file() => Err("it is not a regular file".into()),
        _ => Ok(Bytes::of(path.as_os_str().as_encoded_bytes())),
    }
}

/// What `read` makes of what a table file says.
pub(crate) fn inspect_table<T>(path: &Path, read: impl Fn(&TableInfo<'_>) -> T) -> Result<T, String> {
    let mut made = None;
    read_file(path, |info: &TableInfo<'_>| made = Some(read(info)), springbloom_inspect_table)?;
    made.ok_or_else(|| "it was not read".into())
}

/// What a lookup of a key finds in a table that no filter keeps it from.
pub(crate) fn look_up(path: &Path, key: &[u8], is_reversed: bool) -> Result<RawLookup, String> {
    let (path, key, mut found) = (path_of(path)?, Bytes::of(key), RawLookup::default());
    // SAFETY: path, key and result live through the call.
    checked(|error, size| unsafe {
        springbloom_look_up(path, key, is_reversed, &raw mut found, error, size)
    })?;
    Ok(found)
}

/// What the index of the first `data_bytes` of a table would take with each of the options.
pub(crate) fn measure_indexes(
    path: &Path,
    data_bytes: u64,
    indexes: &[IndexOptions],
) -> Result<Vec<IndexSize>, String> {
    let (path, count) = (path_of(path)?, indexes.len());
    let mut sizes = vec![IndexSize::default(); count];
    // SAFETY: path and both arrays live through the call; the arrays are equally long.
    checked(|error, size| unsafe {
        springbloom_measure_indexes(
            path,
            data_bytes,
            indexes.as_ptr(),
            sizes.as_mut_ptr(),
            count,
            error,
            size,
        )
    })?;
    Ok(sizes)
}

/// Passes the tables that a MANIFEST lists to `take`, by column family.
pub(crate) fn list_tables(manifest: &Path, take: impl FnMut(&RawListedTable<'_>)) -> Result<(), String> {
    read_file(manifest, take, springbloom_list_tables)
}
