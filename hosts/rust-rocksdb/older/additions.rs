//! What the host's tests call, and what crates of older RocksDB releases lack. `scripts/test-releases` adds it to a copy of such a crate.

use std::ptr;

use crate::{
    AsColumnFamilyRef, DB, Error, Options, TransactionDB, WriteBatch, db::DBInner, ffi, ffi_util::CStrLike,
};

/// As newer crates have it, behind their feature `raw-ptr`.
pub trait AsRawPtr<T> {
    /// # Safety
    /// The pointer is valid as long as `self`.
    unsafe fn as_raw_ptr(&self) -> *mut T;
}

impl AsRawPtr<ffi::rocksdb_t> for DB {
    unsafe fn as_raw_ptr(&self) -> *mut ffi::rocksdb_t {
        self.inner.inner()
    }
}

impl AsRawPtr<ffi::rocksdb_options_t> for Options {
    unsafe fn as_raw_ptr(&self) -> *mut ffi::rocksdb_options_t {
        self.inner
    }
}

impl Options {
    pub fn get_options_from_string(&mut self, string: &str) -> Result<Options, Error> {
        let options = Options::default();
        let string = string.into_c_string().expect("options without NUL");
        unsafe {
            ffi_try!(ffi::rocksdb_get_options_from_string(self.inner, string.as_ptr(), options.inner));
        }
        Ok(options)
    }
}

impl TransactionDB {
    pub fn flush(&self) -> Result<(), Error> {
        let mut error = ptr::null_mut();
        unsafe {
            let options = ffi::rocksdb_flushoptions_create();
            ffi::rocksdb_transactiondb_flush(self.inner, options, &mut error);
            ffi::rocksdb_flushoptions_destroy(options);
        }
        if error.is_null() { Ok(()) } else { Err(Error::new(crate::ffi_util::error_message(error))) }
    }
}

impl WriteBatch {
    pub fn single_delete_cf(&mut self, family: &impl AsColumnFamilyRef, key: impl AsRef<[u8]>) {
        let key = key.as_ref();
        unsafe {
            ffi::rocksdb_writebatch_singledelete_cf(self.inner, family.inner(), key.as_ptr().cast(), key.len());
        }
    }
}
