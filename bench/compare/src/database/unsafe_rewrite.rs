//! Rewriting one table in place, for which the Rust crate has no call: the only unsafe code of the program.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::ptr;

use librocksdb_sys as ffi;
use rocksdb::{AsColumnFamilyRef, AsRawPtr};

use crate::database::store::Family;

/// Compacts the table `name` (as in [`rocksdb::LiveFile::name`]) of a column family into one table on the same
/// `level`, with the options that the family was opened with. Runs on the calling thread and returns when the new table is
/// installed.
///
/// # Errors
/// RocksDB's message, for instance if the table is gone or being compacted.
pub(crate) fn rewrite_table(family: Family<'_>, name: &str, level: usize) -> Result<(), String> {
    let name = CString::new(name).map_err(|error| error.to_string())?;
    let level = i32::try_from(level).map_err(|error| error.to_string())?;
    let names = [name.as_ptr()];
    let mut error: *mut std::ffi::c_char = ptr::null_mut();
    // SAFETY: the family's database is borrowed for the call and so open during it, and so is its handle; `names` points to one
    // NUL-terminated string that outlives the call; null compaction options, output names and job info stand for defaults and
    // "not wanted" in `rocksdb_compact_files_cf`; `error` is a valid place for one message.
    unsafe {
        let options = ffi::rocksdb_compaction_options_create();
        ffi::rocksdb_compact_files_cf(
            family.db.as_raw_ptr(),
            family.handle.inner(),
            options,
            names.as_ptr(),
            names.len(),
            level,
            -1,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            &raw mut error,
        );
        ffi::rocksdb_compaction_options_destroy(options);
    }
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: RocksDB leaves a NUL-terminated message from its allocator here, to be read once and freed by us.
    unsafe {
        let message = CStr::from_ptr(error).to_string_lossy().into_owned();
        ffi::rocksdb_free(error.cast());
        Err(message)
    }
}
