//! C++ functions that Rust calls, behind safe doors.

use std::{
    ffi::{c_char, c_int, c_void},
    path::Path,
    ptr,
    sync::Arc,
};

use rocksdb::AsRawPtr;

use super::types::{Access, Bytes, InspectSink, RawStatus, TableInfo, bytes_at};
use crate::{FamilyStatus, elastic_filters::Shared, tables::gate::Gate};

unsafe extern "C" {
    safe fn springbloom_digests_computed() -> u64;
    fn springbloom_install(
        options: *mut c_void,
        elastic: *const c_void,
        error: *mut c_char,
        size: usize,
    ) -> c_int;
    fn springbloom_installed(options: *mut c_void) -> *const c_void;
    fn springbloom_status(
        db: *mut c_void,
        family: *mut c_void,
        elastic: *const c_void,
        status: *mut RawStatus,
        error: *mut c_char,
        size: usize,
    ) -> c_int;
    fn springbloom_inspect_table(
        path: *const u8,
        path_size: usize,
        head_only: c_int,
        sink: *const InspectSink,
        error: *mut c_char,
        size: usize,
    ) -> c_int;
}

pub(crate) fn digests_computed() -> u64 {
    springbloom_digests_computed()
}

/// Calls a function that returns 0, or writes a message to the buffer that it is given.
fn checked(call: impl FnOnce(*mut c_char, usize) -> c_int) -> Result<(), String> {
    let mut message = [0u8; 512];
    if call(message.as_mut_ptr().cast(), message.len()) == 0 { Ok(()) } else { Err(message_of(&message)) }
}

/// What C++ wrote to a buffer, up to its NUL.
fn message_of(buffer: &[u8]) -> String {
    let end = buffer.iter().position(|&byte| byte == 0).unwrap_or(buffer.len());
    String::from_utf8_lossy(&buffer[..end]).into_owned()
}

pub(crate) fn install(options: &mut rocksdb::Options, shared: &Arc<Shared>) -> Result<(), String> {
    // SAFETY: the options live through the call; C++ retains `shared` for itself (sb_filters_retain).
    checked(|error, size| unsafe {
        springbloom_install(options.as_raw_ptr().cast(), Arc::as_ptr(shared).cast(), error, size)
    })
}

/// Whether options have filter units of another instance.
pub(crate) fn is_another_installed(options: &mut rocksdb::Options, shared: &Arc<Shared>) -> bool {
    // SAFETY: the options live through the call.
    let installed = unsafe { springbloom_installed(options.as_raw_ptr().cast()) };
    !installed.is_null() && installed != Arc::as_ptr(shared).cast()
}

/// Of a column family of the database; the default one if none is given.
pub(crate) fn status(
    db: &rocksdb::DB,
    family: Option<*mut librocksdb_sys::rocksdb_column_family_handle_t>,
    shared: &Arc<Shared>,
) -> Result<FamilyStatus, String> {
    let mut raw = RawStatus::default();
    let family = family.map_or(ptr::null_mut(), |family| family.cast());
    // SAFETY: the database and its column family live through the call, which writes `raw` alone.
    checked(|error, size| unsafe {
        springbloom_status(
            db.as_raw_ptr().cast(),
            family,
            Arc::as_ptr(shared).cast(),
            &raw mut raw,
            error,
            size,
        )
    })?;
    let RawStatus { is_active, tables_with_units, tables_without_units } = raw;
    Ok(FamilyStatus { is_active: is_active != 0, tables_with_units, tables_without_units })
}

/// What a table file says of itself.
#[derive(Debug, Default)]
pub(crate) struct Inspected {
    pub(crate) file_bytes: u64,
    pub(crate) entries: u64,
    pub(crate) data_bytes: u64,
    pub(crate) filter_bytes: u64,
    pub(crate) filter_policy: String,
    pub(crate) session: Vec<u8>,
    pub(crate) orig_file_number: u64,
    pub(crate) block: Option<Vec<u8>>,
}

/// `head_only`: of the filter block just header and directory.
pub(crate) fn inspect_table(path: &Path, head_only: bool) -> Result<Inspected, String> {
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
            filter_policy: String::from_utf8_lossy(filter_policy).into_owned(),
            session: session.to_vec(),
            orig_file_number: info.orig_file_number,
            block: None,
        };
    }
    unsafe extern "C" fn on_block(context: *mut c_void, data: *const u8, size: usize) {
        // SAFETY: `context` is the `Inspected` below, the block lives through the call.
        let (inspected, block) = unsafe { (&mut *context.cast::<Inspected>(), bytes_at(data, size)) };
        inspected.block = Some(block.to_vec());
    }
    let mut inspected = Inspected::default();
    let sink = InspectSink { context: (&raw mut inspected).cast(), table: on_table, block: on_block };
    let path = path.as_os_str().as_encoded_bytes();
    // SAFETY: path and sink live through the call, and nothing else touches `inspected` meanwhile.
    checked(|error, size| unsafe {
        springbloom_inspect_table(path.as_ptr(), path.len(), head_only.into(), &sink, error, size)
    })?;
    Ok(inspected)
}

/// Opens the table files of a database by their paths, while the database is open. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct FileAccess {
    /// `None`: for no database.
    files: Option<Arc<Files>>,
}

/// A C++ object.
#[derive(Debug)]
struct Files {
    access: Access,
    gate: Gate,
}

// SAFETY: the C++ object is immutable after its construction; each call opens a file of its own.
unsafe impl Send for Files {}
// SAFETY: as above.
unsafe impl Sync for Files {}

impl FileAccess {
    /// # Safety
    /// `access.access` belongs to the result from here on, and the functions take it.
    pub(super) unsafe fn new(access: Access) -> Self {
        Self { files: Some(Arc::new(Files { access, gate: Gate::default() })) }
    }

    /// No file exists in it.
    pub(crate) fn none() -> Self {
        Self { files: None }
    }

    /// Fills `into` from `offset` within the file; whether that worked. Not once the database is closed. `verify`: what was read before
    /// is corrupt, and the file system is to verify and mend it, which few can.
    pub(crate) fn read(&self, path: &[u8], offset: u64, verify: bool, into: &mut [u8]) -> bool {
        let read = |Access { access, read, .. }: Access| {
            // SAFETY: `into` is writable for its length, the path is borrowed for the call, and `access` is alive until drop.
            unsafe {
                read(access, Bytes::of(path), offset, into.len(), verify.into(), into.as_mut_ptr()) == 0
            }
        };
        self.while_open(read).unwrap_or(false)
    }

    /// Whether the file is still there; none is once the database is closed. Touches the file system.
    pub(crate) fn exists(&self, path: &[u8]) -> bool {
        let exists = |Access { access, exists, .. }: Access| {
            // SAFETY: the path is borrowed for the call, and `access` is alive until drop.
            unsafe { exists(access, Bytes::of(path)) != 0 }
        };
        self.while_open(exists).unwrap_or(false)
    }

    /// Adds a line to the database's log. Not once the database is closed.
    pub(crate) fn log(&self, text: &str) {
        // SAFETY: the text is borrowed for the call, and `access` is alive until drop.
        let log = |Access { access, log, .. }: Access| unsafe { log(access, Bytes::of(text.as_bytes())) };
        self.while_open(log);
    }

    /// The database closes: when this returns, nobody accesses a file, and nobody will.
    pub(crate) fn close(&self) {
        if let Some(files) = &self.files {
            files.gate.close();
        }
    }

    fn while_open<T>(&self, run: impl FnOnce(Access) -> T) -> Option<T> {
        let files = self.files.as_ref()?;
        files.gate.enter(|| run(files.access))
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // SAFETY: `access` is owned and not used again.
        unsafe { (self.access.free)(self.access.access) }
    }
}
