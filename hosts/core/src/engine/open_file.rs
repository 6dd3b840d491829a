//! The file of an open table, as the engine's adapter lends it.

use std::ffi::{c_int, c_void};

use super::bytes::Bytes;

type ReadFn = unsafe extern "C" fn(*const c_void, u64, usize, c_int, *mut u8) -> c_int;
type TakeHeadFn = unsafe extern "C" fn(*mut c_void, *const Head);
type ReadHeadFn = unsafe extern "C" fn(*const c_void, i32, *mut c_void, TakeHeadFn) -> c_int;
type FreeFn = unsafe extern "C" fn(*mut c_void);

/// What can be done with it: `sb_file`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileCalls {
    pub(crate) file: *mut c_void,
    pub(crate) read: ReadFn,
    pub(crate) read_head: ReadHeadFn,
    pub(crate) free: FreeFn,
}

/// The head of a block of units, which somebody else owns: `sb_head`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Head {
    pub(crate) bytes: Bytes,
    pub(crate) block_offset: u64,
    pub(crate) session: Bytes,
}

/// The same, owned.
pub(crate) struct OwnedHead {
    pub(crate) bytes: Vec<u8>,
    pub(crate) block_offset: u64,
    pub(crate) session: Vec<u8>,
}

impl Head {
    /// # Safety
    /// What it points to is readable.
    pub(crate) unsafe fn owned(self) -> OwnedHead {
        // SAFETY: by the caller's promise.
        let [bytes, session] = [self.bytes, self.session].map(|bytes| unsafe { bytes.get() }.to_vec());
        OwnedHead { bytes, block_offset: self.block_offset, session }
    }
}

/// A share in the file and in all that reading it uses. Dropping the last one may close the file.
#[derive(Debug)]
pub(crate) struct OpenFile(FileCalls);

// SAFETY: by the header, any thread may call the functions at any time.
unsafe impl Send for OpenFile {}
// SAFETY: as above.
unsafe impl Sync for OpenFile {}

unsafe extern "C" fn keep(context: *mut c_void, head: *const Head) {
    // SAFETY: `read_head` passes its own variable; the adapter passes a head that is readable during this call.
    unsafe { *context.cast::<Option<OwnedHead>>() = Some((*head).owned()) }
}

impl OpenFile {
    /// # Safety
    /// `calls.file` belongs to the result from here on, and the functions take it.
    pub(crate) unsafe fn new(calls: FileCalls) -> Self {
        Self(calls)
    }

    /// Fills `into` from `offset` on. `false` on a failure. `verify`: the last read was corrupt.
    pub(crate) fn read(&self, offset: u64, verify: bool, into: &mut [u8]) -> bool {
        // SAFETY: `into` is writable for its length, and the file is alive until drop.
        unsafe { (self.0.read)(self.0.file, offset, into.len(), verify.into(), into.as_mut_ptr()) == 0 }
    }

    /// Reads the head of the units with such `contents`. Errs with the header's code.
    pub(crate) fn read_head(&self, contents: i32) -> Result<OwnedHead, c_int> {
        let mut head: Option<OwnedHead> = None;
        // SAFETY: `keep` takes this variable, during the call.
        let code = unsafe { (self.0.read_head)(self.0.file, contents, (&raw mut head).cast(), keep) };
        head.filter(|_| code == 0).ok_or(code)
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        // SAFETY: owned and not used again.
        unsafe { (self.0.free)(self.0.file) }
    }
}
