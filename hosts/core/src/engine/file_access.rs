//! Table files of a database, as the engine opens them.

use std::{
    ffi::{c_int, c_void},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use super::{bytes::Bytes, gate::Gate};

type ReadFn = extern "C" fn(*const c_void, Bytes<'_>, u64, usize, c_int, *mut u8) -> c_int;
type ExistsFn = extern "C" fn(*const c_void, Bytes<'_>) -> c_int;
type LogFn = extern "C" fn(*const c_void, c_int, Bytes<'_>);
type FreeFn = extern "C" fn(*mut c_void);

/// How table files are opened, by an object of the engine's adapter with shares in the engine's: `sb_file_access`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) access: *mut c_void,
    pub(crate) read: ReadFn,
    pub(crate) exists: ExistsFn,
    pub(crate) log: LogFn,
    pub(crate) free: FreeFn,
    /// Tells file systems apart whose files lie on no device of the operating system.
    pub(crate) file_system: u64,
}

/// Opens the table files of a database by their paths, while the database is open.
#[derive(Debug)]
pub(crate) struct FileAccess {
    gate: Gate<Access>,
    pub(crate) file_system: u64,
}

// SAFETY: by the header, any thread may call the functions at any time.
unsafe impl Send for Access {}
// SAFETY: as above.
unsafe impl Sync for Access {}

impl FileAccess {
    pub(crate) fn new(access: Access) -> Self {
        Self { file_system: access.file_system, gate: Gate::new(access) }
    }

    /// Fills `into` from `offset` within the file. `false` on a failure, and after the database is closed. `verify`: the last read was
    /// corrupt, so the file system should verify and reconstruct what it reads. Few can.
    pub(crate) fn read(&self, path: &Path, offset: u64, verify: bool, into: &mut [u8]) -> bool {
        let read = |of: &Access| {
            (of.read)(of.access, bytes_of(path), offset, into.len(), verify.into(), into.as_mut_ptr()) == 0
        };
        self.gate.enter(read).unwrap_or(false)
    }

    /// Whether the file exists. `false` after the database is closed. Accesses the file system.
    pub(crate) fn exists(&self, path: &Path) -> bool {
        self.gate.enter(|of| (of.exists)(of.access, bytes_of(path)) != 0).unwrap_or(false)
    }

    /// Whether the database is open.
    pub(crate) fn is_open(&self) -> bool {
        self.gate.is_open()
    }

    /// Adds a line to the database's log. Not once the database is closed.
    pub(crate) fn log(&self, is_warning: bool, text: &str) {
        self.gate.enter(|of| (of.log)(of.access, is_warning.into(), Bytes::of(text.as_bytes())));
    }

    /// Closes the access: no file is accessed from here on. `may_wait`: nor is one being accessed when this returns, and nothing of the
    /// engine's is kept; else a thread that accesses one keeps it until it is done.
    pub(crate) fn close(&self, may_wait: bool) {
        if may_wait {
            self.gate.close();
        } else {
            self.gate.shut();
        }
    }

    /// Runs what accesses the database's files, unless it is closed. Closing waits for it.
    pub(crate) fn enter<T>(&self, run: impl FnOnce() -> T) -> Option<T> {
        self.gate.enter(|_| run())
    }
}

fn bytes_of(path: &Path) -> Bytes<'_> {
    Bytes::of(path.as_os_str().as_bytes())
}

impl Drop for Access {
    fn drop(&mut self) {
        (self.free)(self.access);
    }
}
