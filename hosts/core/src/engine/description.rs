//! What the core must know of an engine: `sb_engine`.

use std::{
    ffi::{CStr, OsStr, c_char, c_int, c_uint, c_void},
    os::unix::ffi::OsStrExt,
    ptr::NonNull,
};

/// A C string that is never freed.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Name(pub(super) NonNull<c_char>);

// SAFETY: the text is never written.
unsafe impl Send for Name {}
// SAFETY: as above.
unsafe impl Sync for Name {}

impl Name {
    /// The text.
    pub fn text(self) -> &'static OsStr {
        // SAFETY: it stays, and ends in NUL, by the promise of its definition.
        OsStr::from_bytes(unsafe { CStr::from_ptr(self.0.as_ptr()) }.to_bytes())
    }
}

/// What can be done with a cache: `sb_cache_calls`.
#[repr(C)]
#[derive(Debug)]
pub struct CacheCalls {
    /// Begins a charge of 0 bytes, which keeps the cache alive. The first function is called when the cache may have run short of room, the
    /// second after its last call, each with the last argument.
    pub charge: extern "C" fn(
        *const c_void,
        extern "C" fn(*mut c_void),
        extern "C" fn(*mut c_void),
        *mut c_void,
    ) -> *mut c_void,
    /// Capacity of the cache.
    pub capacity: extern "C" fn(charge: *mut c_void) -> u64,
    /// Bytes that the charge may take, this many eighths of the capacity at most.
    pub room: extern "C" fn(charge: *mut c_void, eighths: c_uint) -> u64,
    /// Bytes that are charged.
    pub charged: extern "C" fn(charge: *mut c_void) -> u64,
    /// Changes a charge by a permit. Gives what the cache grants.
    pub update: extern "C" fn(charge: *mut c_void, bytes: u64, permit: u64) -> u64,
    /// Gives all bytes of a charge back at once, and takes none by an earlier permit; or only if the cache refuses entries. Gives how many.
    pub end: extern "C" fn(charge: *mut c_void, permit: u64, if_refusing: c_int) -> u64,
    /// Ends a charge.
    pub release: extern "C" fn(charge: *mut c_void),
}

/// An engine, as the host that knows it describes it: `sb_engine`.
#[repr(C)]
#[derive(Debug)]
pub struct Engine {
    /// Of table files, whose names are numbers of at least six digits.
    pub table_extension: Name,
    /// Of tables of an older version.
    pub older_table_extension: Option<Name>,
    /// A file in the folder of every database. The core writes to no folder without it.
    pub database_file: Name,
    /// The lock file of a database. The process that has the database open for writing keeps it open.
    pub lock_file: Name,
    /// Name of the hotness file in the folder of a database.
    pub hotness_file: Name,
    /// Its name while it is written.
    pub hotness_file_new: Name,
    /// By malloc, of the reader of an open table with units, and of its `sb_file`: the budget pays for it.
    pub reader_bytes: usize,
    /// `None`: the engine has no caches.
    pub cache: Option<&'static CacheCalls>,
}
