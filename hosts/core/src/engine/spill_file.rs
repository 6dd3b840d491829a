//! Temporary files of the engine's adapter, for finished units of tables that are being written.

use std::{
    ffi::{c_int, c_void},
    fmt,
    io::{self, ErrorKind, Write},
    ops::Deref,
    ptr::NonNull,
    slice,
};

use super::bytes::Bytes;

/// What can be done with them: `sb_spill_files`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct SpillFiles {
    pub(crate) context: *mut c_void,
    pub(crate) create: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    pub(crate) append: unsafe extern "C" fn(*mut c_void, Bytes) -> c_int,
    pub(crate) read: unsafe extern "C" fn(*mut c_void, u64, usize, *mut u8) -> c_int,
    pub(crate) map: unsafe extern "C" fn(*mut c_void, usize) -> *const u8,
    pub(crate) free: unsafe extern "C" fn(*mut c_void),
}

/// One file. It is created when something is appended to it.
pub(crate) struct SpillFile {
    files: SpillFiles,
    /// Owned.
    file: Option<NonNull<c_void>>,
    size: usize,
}

// SAFETY: by the header, the files are not bound to a thread; a builder is used by one at a time.
unsafe impl Send for SpillFile {}

impl SpillFile {
    /// The caller's [`SpillFiles`] outlive the result.
    pub(crate) fn new(files: SpillFiles) -> Self {
        Self { files, file: None, size: 0 }
    }

    /// All of the file, mapped. `None`: that cannot be done.
    pub(crate) fn map(self) -> Option<MappedFile> {
        // SAFETY: the file is alive, and has so many bytes.
        let bytes = unsafe { (self.files.map)(self.file?.as_ptr(), self.size) };
        NonNull::new(bytes.cast_mut()).map(|bytes| MappedFile { bytes, file: self })
    }

    fn created(&mut self) -> io::Result<NonNull<c_void>> {
        if self.file.is_none() {
            // SAFETY: the context is alive by the caller's promise.
            self.file = NonNull::new(unsafe { (self.files.create)(self.files.context) });
        }
        self.file.ok_or(ErrorKind::Other.into())
    }
}

/// The adapter has logged what was wrong.
fn done(failure: c_int) -> io::Result<()> {
    if failure == 0 { Ok(()) } else { Err(ErrorKind::Other.into()) }
}

impl springbloom_format::SpillFile for SpillFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = self.created()?;
        // SAFETY: the file is alive, the bytes are borrowed for the call.
        done(unsafe { (self.files.append)(file.as_ptr(), Bytes::of(bytes)) })?;
        self.size += bytes.len();
        Ok(())
    }

    fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let file = self.created()?;
        // SAFETY: the file is alive, and `into` is writable for its length.
        done(unsafe { (self.files.read)(file.as_ptr(), offset, into.len(), into.as_mut_ptr()) })
    }
}

impl Write for SpillFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        springbloom_format::SpillFile::append(self, bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        if let Some(file) = self.file {
            // SAFETY: owned and not used again.
            unsafe { (self.files.free)(file.as_ptr()) }
        }
    }
}

/// A file that is mapped into memory.
pub(crate) struct MappedFile {
    bytes: NonNull<u8>,
    file: SpillFile,
}

// SAFETY: as for the file; the bytes do not change.
unsafe impl Send for MappedFile {}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: by the header, so many bytes are mapped as long as the file is alive.
        unsafe { slice::from_raw_parts(self.bytes.as_ptr(), self.file.size) }
    }
}

impl fmt::Debug for MappedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MappedFile").field("size", &self.file.size).finish_non_exhaustive()
    }
}
