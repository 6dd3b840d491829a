//! An engine for tests: files as most engines with sorted tables name them, and nothing else.

use std::{
    ffi::{c_int, c_void},
    ptr,
};

use super::{
    bytes::Bytes,
    description::{Engine, Name},
    file_access::{Access, FileAccess},
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
