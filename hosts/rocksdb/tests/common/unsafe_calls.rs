//! C functions of RocksDB that the Rust crate has no call for.

#![allow(unsafe_code)]

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr,
};

use librocksdb_sys as c;
use rocksdb::{AsRawPtr, DB, Options};

/// Reads every block of every table and compares its checksum.
pub(crate) fn verify_checksums(db: &DB) -> Result<(), String> {
    let mut error = ptr::null_mut();
    // SAFETY: the database is open through the call; the message, if any, is ours to free.
    unsafe {
        c::rocksdb_verify_checksum(db.as_raw_ptr(), &raw mut error);
        if error.is_null() {
            return Ok(());
        }
        let message = CStr::from_ptr(error).to_string_lossy().into_owned();
        c::rocksdb_free(error.cast());
        Err(message)
    }
}

/// Aborts manual compactions that run, and every later one.
pub(crate) fn disable_manual_compaction(db: &DB) {
    // SAFETY: the database is open through the call.
    unsafe { c::rocksdb_disable_manual_compaction(db.as_raw_ptr()) }
}

/// A test of `tests/cpp`: takes options and a folder, gives 0 or writes a message.
pub(crate) type CppTest = unsafe extern "C" fn(*mut c_void, *const c_char, *mut c_char, usize) -> c_int;

/// Runs a test of `tests/cpp`.
///
/// # Panics
/// With the test's message if it fails.
pub(crate) fn run_cpp_test(test: CppTest, options: &mut Options, folder: &Path) {
    let mut message = [0u8; 1024];
    let path = CString::new(folder.as_os_str().as_bytes()).expect("no NUL in a path");
    // SAFETY: options, path and buffer live through the call.
    let failed = unsafe {
        test(options.as_raw_ptr().cast(), path.as_ptr(), message.as_mut_ptr().cast(), message.len())
    };
    let message = CStr::from_bytes_until_nul(&message).expect("messages end in NUL").to_string_lossy();
    assert_eq!(failed, 0, "{message}");
}

/// Bytes that this process has allocated and not freed, by whatever language.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn malloc_bytes() -> usize {
    /// As `malloc.h` has it.
    #[repr(C)]
    struct Mallinfo2 {
        arena: usize,
        ordblks: usize,
        smblks: usize,
        hblks: usize,
        hblkhd: usize,
        usmblks: usize,
        fsmblks: usize,
        uordblks: usize,
        fordblks: usize,
        keepcost: usize,
    }
    unsafe extern "C" {
        fn mallinfo2() -> Mallinfo2;
    }
    // SAFETY: takes nothing and gives a plain structure.
    let malloc = unsafe { mallinfo2() };
    malloc.uordblks + malloc.hblkhd
}
