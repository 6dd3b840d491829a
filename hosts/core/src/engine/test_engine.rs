//! An engine for tests: files as most engines with sorted tables name them, and nothing else.

use std::{
    ffi::{c_int, c_void},
    ptr,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use super::{
    bytes::Bytes,
    description::{Engine, Name},
    file_access::{Access, FileAccess},
    open_file::{FileCalls, Head, OpenFile, OwnedHead},
};

pub(crate) static TEST_ENGINE: Engine = Engine {
    table_extension: Name::new(c"sst"),
    older_table_extension: Some(Name::new(c"ldb")),
    database_file: Name::new(c"CURRENT"),
    lock_file: Name::new(c"LOCK"),
    hotness_file: Name::new(c"HOTNESS"),
    hotness_file_new: Name::new(c"HOTNESS.new"),
    reader_bytes: 48,
    cache: None,
};

unsafe extern "C" fn no_read(_: *const c_void, _: Bytes, _: u64, _: usize, _: c_int, _: *mut u8) -> c_int {
    1
}

unsafe extern "C" fn no_file(_: *const c_void, _: Bytes) -> c_int {
    0
}

unsafe extern "C" fn no_log(_: *const c_void, _: c_int, _: Bytes) {}

unsafe extern "C" fn nothing(_: *mut c_void) {}

/// A file of a table, of which a test says what reading its head comes to: a code of the header.
pub(crate) struct LentFile {
    pub(crate) head: OwnedHead,
    pub(crate) read: Box<dyn Fn() -> c_int + Send + Sync>,
    /// Shares that were not given back.
    pub(crate) shares: AtomicI64,
}

unsafe extern "C" fn no_open_read(_: *const c_void, _: u64, _: usize, _: c_int, _: *mut u8) -> c_int {
    1
}

unsafe extern "C" fn read_lent_head(
    file: *const c_void,
    _: i32,
    context: *mut c_void,
    take: unsafe extern "C" fn(*mut c_void, *const Head),
) -> c_int {
    // SAFETY: `lent` keeps the file for each share.
    let file = unsafe { &*file.cast::<LentFile>() };
    let code = (file.read)();
    if code == 0 {
        let OwnedHead { bytes, block_offset, session } = &file.head;
        let head = Head { bytes: Bytes::of(bytes), block_offset: *block_offset, session: Bytes::of(session) };
        // SAFETY: by the caller's promise.
        unsafe { take(context, &raw const head) };
    }
    assert!(file.shares.load(Ordering::SeqCst) > 0, "a share was given back during its read");
    code
}

unsafe extern "C" fn free_lent(file: *mut c_void) {
    // SAFETY: the share that `lent` made.
    let file = unsafe { Arc::from_raw(file.cast::<LentFile>()) };
    assert!(file.shares.fetch_sub(1, Ordering::SeqCst) > 0, "a share was given back twice");
}

/// A share in the file.
pub(crate) fn lent(file: &Arc<LentFile>) -> OpenFile {
    file.shares.fetch_add(1, Ordering::SeqCst);
    let calls = FileCalls {
        file: Arc::into_raw(file.clone()).cast_mut().cast(),
        read: no_open_read,
        read_head: read_lent_head,
        free: free_lent,
    };
    // SAFETY: the functions take such a file.
    unsafe { OpenFile::new(calls) }
}

/// Access to no file.
pub(crate) fn no_files() -> FileAccess {
    let access = Access {
        access: ptr::null_mut(),
        read: no_read,
        exists: no_file,
        log: no_log,
        free: nothing,
        file_system: 0,
    };
    // SAFETY: the functions use nothing that they are given.
    unsafe { FileAccess::new(access) }
}
