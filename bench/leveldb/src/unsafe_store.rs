//! LevelDB, by the functions of `cpp/store.h`.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::{ptr, slice};

use anyhow::{Context, Result, anyhow};
use springbloom_host_core::{Engine, Filters};

#[repr(C)]
struct Bytes {
    data: *const u8,
    size: usize,
}

impl Bytes {
    fn of(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr(), size: bytes.len() }
    }
}

#[repr(C)]
struct CStore([u8; 0]);

/// A table in a tree, and the bits of its Bloom filter: `lb_table`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its level.
    pub level: u32,
    /// Bits per key; 0: no Bloom filter.
    pub bloom_bits: u32,
    /// That of its file.
    pub number: u64,
}

// The functions do not look into filters.
#[expect(improper_ctypes)]
unsafe extern "C" {
    safe fn lb_engine() -> *const Engine;
    safe fn lb_error() -> *const c_char;
    fn lb_open(
        path: *const c_char,
        write_buffer: u64,
        file_bytes: u64,
        holds: c_int,
        filters: *const Filters,
        bloom_bits: u32,
    ) -> *mut CStore;
    fn lb_put(store: *mut CStore, key: Bytes, value: Bytes) -> c_int;
    fn lb_get(store: *mut CStore, key: Bytes, value: *mut Bytes, reads: *mut u64) -> c_int;
    fn lb_tables(store: *mut CStore) -> Bytes;
    fn lb_settle(store: *mut CStore);
    fn lb_close(store: *mut CStore);
    fn lb_copy(
        from: *const c_char,
        to: *const c_char,
        tables: *const Table,
        count: usize,
        filters: *const Filters,
    ) -> i64;
}

fn error() -> anyhow::Error {
    // SAFETY: text of this thread, until its next call.
    anyhow!("LevelDB: {}", unsafe { CStr::from_ptr(lb_error()) }.to_string_lossy())
}

fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).context("a path without NUL")
}

fn pointer(filters: Option<&Arc<Filters>>) -> *const Filters {
    filters.map_or(ptr::null(), Arc::as_ptr)
}

/// What the core must know of LevelDB.
pub fn engine() -> &'static Engine {
    // SAFETY: a constant of the library.
    unsafe { &*lb_engine() }
}

/// How a database is opened.
#[derive(Clone, Default)]
pub struct Opening {
    /// Bytes of a memtable.
    pub write_buffer: u64,
    /// Bytes of a table file.
    pub file_bytes: u64,
    /// Whether its tree stays as it is.
    pub holds: bool,
    /// Elastic filters.
    pub filters: Option<Arc<Filters>>,
    /// Bits per key of the Bloom filters of new tables; 0: there are none. Those of old tables are read whatever they have.
    pub bloom_bits: u32,
}

/// An open database, closed when dropped.
pub struct Store {
    store: *mut CStore,
    /// Borrowed by the database.
    _filters: Option<Arc<Filters>>,
}

impl Store {
    /// Opens or makes it.
    pub fn open(path: &Path, opening: &Opening) -> Result<Self> {
        let Opening { write_buffer, file_bytes, holds, filters, bloom_bits } = opening;
        let path = c_path(path)?;
        // SAFETY: the filters outlive the database.
        let store = unsafe {
            lb_open(
                path.as_ptr(),
                *write_buffer,
                *file_bytes,
                c_int::from(*holds),
                pointer(filters.as_ref()),
                *bloom_bits,
            )
        };
        if store.is_null() { Err(error()) } else { Ok(Self { store, _filters: filters.clone() }) }
    }

    /// Writes.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        // SAFETY: it is open; key and value are borrowed for the call.
        let put = unsafe { lb_put(self.store, Bytes::of(key), Bytes::of(value)) };
        if put == 0 { Ok(()) } else { Err(error()) }
    }

    /// The value if there is one, and the reads of tables that it took.
    pub fn get(&mut self, key: &[u8]) -> Result<(Option<&[u8]>, u64)> {
        let (mut value, mut reads) = (Bytes::of(&[]), 0);
        // SAFETY: as above.
        match unsafe { lb_get(self.store, Bytes::of(key), &mut value, &mut reads) } {
            0 => Ok((None, reads)),
            // SAFETY: it stays until the next call, which needs this borrow to be over.
            1 => Ok((Some(unsafe { slice::from_raw_parts(value.data, value.size) }), reads)),
            _ => Err(error()),
        }
    }

    /// LevelDB's text about its tables.
    pub fn tables(&mut self) -> String {
        // SAFETY: it is open; the text is copied at once.
        let text = unsafe {
            let Bytes { data, size } = lb_tables(self.store);
            slice::from_raw_parts(data, size)
        };
        String::from_utf8_lossy(text).into_owned()
    }

    /// Waits for flushes and compactions.
    pub fn settle(&self) {
        // SAFETY: it is open.
        unsafe { lb_settle(self.store) }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // SAFETY: nobody uses it after this.
        unsafe { lb_close(self.store) }
    }
}

/// Makes the database `to` of the tables of `from`, with filters. Gives the bytes of the filters.
pub fn copy(from: &Path, to: &Path, tables: &[Table], filters: Option<&Arc<Filters>>) -> Result<u64> {
    let (from, to) = (c_path(from)?, c_path(to)?);
    // SAFETY: all are borrowed for the call.
    let bytes =
        unsafe { lb_copy(from.as_ptr(), to.as_ptr(), tables.as_ptr(), tables.len(), pointer(filters)) };
    u64::try_from(bytes).map_err(|_| error())
}
