//! C functions of RocksDB that the Rust crate has no call for.

#![allow(unsafe_code)]

use std::{ffi::CStr, ptr};

use librocksdb_sys as c;
use rocksdb::{AsRawPtr, DB};

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
