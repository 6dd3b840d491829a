//! What the core must know of an engine: `sb_engine`.

use std::{
    ffi::{CStr, OsStr, c_char, c_uint, c_void},
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
    pub(crate) charge: extern "C" fn(
        *const c_void,
        extern "C" fn(*mut c_void),
        extern "C" fn(*mut c_void),
        *mut c_void,
    ) -> *mut c_void,
    pub(crate) capacity: extern "C" fn(charge: *mut c_void) -> u64,
    pub(crate) room: extern "C" fn(charge: *mut c_void, eighths: c_uint) -> u64,
    pub(crate) charged: extern "C" fn(charge: *mut c_void) -> u64,
    pub(crate) update: extern "C" fn(charge: *mut c_void, bytes: u64, permit: u64) -> u64,
    pub(crate) end: extern "C" fn(charge: *mut c_void, permit: u64) -> u64,
    pub(crate) release: extern "C" fn(charge: *mut c_void),
}

/// An engine, as the host that knows it describes it: `sb_engine`.
#[repr(C)]
#[derive(Debug)]
pub struct Engine {
    pub(crate) table_extension: Name,
    pub(crate) older_table_extension: Option<Name>,
    pub(crate) database_file: Name,
    pub(crate) lock_file: Name,
    /// Name of the hotness file in the folder of a database.
    pub hotness_file: Name,
    pub(crate) hotness_file_new: Name,
    pub(crate) reader_bytes: usize,
    pub(crate) cache: Option<&'static CacheCalls>,
}
