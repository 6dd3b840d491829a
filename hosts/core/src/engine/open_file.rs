//! The file of an open table, as the engine's adapter lends it.

use std::{
    ffi::{c_int, c_void},
    ptr::NonNull,
};

use springbloom_index::{PackedIndex, Packer};

use super::bytes::Bytes;

type ReadFn = extern "C" fn(*const File, u64, usize, c_int, *mut u8) -> c_int;
type TakeHeadFn = extern "C" fn(*mut c_void, &Head<'_>);
type ReadHeadFn = extern "C" fn(*const File, i32, *mut c_void, TakeHeadFn) -> c_int;
type TakeEntryFn = extern "C" fn(*mut c_void, &IndexEntry<'_>);
type ReadIndexFn = extern "C" fn(*const File, *mut c_void, TakeEntryFn) -> c_int;
type ShareFn = extern "C" fn(*const File);

/// An entry of a table's index: `sb_index_entry`.
#[repr(C)]
pub(crate) struct IndexEntry<'a> {
    pub(crate) separator: Bytes<'a>,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// What can be done with it: `sb_file_calls`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct FileCalls {
    pub(crate) read: ReadFn,
    pub(crate) read_head: ReadHeadFn,
    pub(crate) read_index: Option<ReadIndexFn>,
    pub(crate) share: ShareFn,
    pub(crate) release: ShareFn,
}

/// What the adapter's object begins with: `sb_file`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) calls: &'static FileCalls,
}

/// The head of a block of units, which somebody else owns: `sb_head`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Head<'a> {
    pub(crate) bytes: Bytes<'a>,
    pub(crate) block_offset: u64,
    pub(crate) session: Bytes<'a>,
}

/// The same, owned.
pub(crate) struct OwnedHead {
    pub(crate) bytes: Vec<u8>,
    pub(crate) block_offset: u64,
    pub(crate) session: Vec<u8>,
}

impl Head<'_> {
    pub(crate) fn owned(self) -> OwnedHead {
        let [bytes, session] = [self.bytes, self.session].map(|bytes| bytes.get().to_vec());
        OwnedHead { bytes, block_offset: self.block_offset, session }
    }
}

/// A share in the file and in all that reading it uses, which the file counts. Dropping the last one may close the file.
#[derive(Debug)]
pub(crate) struct OpenFile(NonNull<File>);

// SAFETY: by the header, any thread may call the functions at any time.
unsafe impl Send for OpenFile {}
// SAFETY: as above.
unsafe impl Sync for OpenFile {}

extern "C" fn keep(context: *mut c_void, head: &Head<'_>) {
    // SAFETY: `read_head` passes its own variable.
    unsafe { *context.cast::<Option<OwnedHead>>() = Some(head.owned()) }
}

extern "C" fn pack(context: *mut c_void, entry: &IndexEntry<'_>) {
    // SAFETY: `read_index` passes its own variable.
    unsafe { &mut *context.cast::<Packer>() }.add(entry.separator.get(), entry.offset, entry.size);
}

impl OpenFile {
    /// It is a share that belongs to the result from here on.
    pub(crate) fn new(share: NonNull<File>) -> Self {
        Self(share)
    }

    fn calls(&self) -> &'static FileCalls {
        // SAFETY: the file is alive until drop.
        unsafe { self.0.as_ref() }.calls
    }

    /// Fills `into` from `offset` on. `false` on a failure. `verify`: the last read was corrupt.
    pub(crate) fn read(&self, offset: u64, verify: bool, into: &mut [u8]) -> bool {
        (self.calls().read)(self.0.as_ptr(), offset, into.len(), verify.into(), into.as_mut_ptr()) == 0
    }

    /// Reads the head of the units over keys, or over prefixes. Errs with the header's code.
    pub(crate) fn read_head(&self, of_prefixes: bool) -> Result<OwnedHead, c_int> {
        let mut head: Option<OwnedHead> = None;
        let code =
            (self.calls().read_head)(self.0.as_ptr(), of_prefixes.into(), (&raw mut head).cast(), keep);
        head.filter(|_| code == 0).ok_or(code)
    }

    /// Reads the whole index of the table. `None` on a failure, or where the adapter cannot.
    pub(crate) fn read_index(&self) -> Option<PackedIndex> {
        let read_index = self.calls().read_index?;
        let mut packer = Packer::default();
        let code = read_index(self.0.as_ptr(), (&raw mut packer).cast(), pack);
        packer.finish().filter(|_| code == 0)
    }
}

impl Clone for OpenFile {
    fn clone(&self) -> Self {
        (self.calls().share)(self.0.as_ptr());
        Self(self.0)
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        (self.calls().release)(self.0.as_ptr());
    }
}
