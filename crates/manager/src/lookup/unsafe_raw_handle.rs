//! A handle as a pointer, for a host that keeps it where no Rust value can be.

#![allow(unsafe_code)]

use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use arc_swap::RefCnt;

use super::handle::TableHandle;
use super::table_shared::TableShared;
use super::unsafe_thin_arc::ThinArc;

impl TableHandle {
    /// The handle as a pointer, which is aligned as a `u64` is. [`from_raw`](Self::from_raw) makes it a handle again.
    pub fn into_raw(self) -> NonNull<()> {
        let handle = ManuallyDrop::new(self);
        let TableShared(thin) = &handle.table;
        // SAFETY: the pointer of an allocation is not null.
        unsafe { NonNull::new_unchecked(RefCnt::as_ptr(thin).cast()) }
    }

    /// The handle of a pointer.
    ///
    /// # Safety
    /// [`into_raw`](Self::into_raw) gave the pointer. Of all handles that are made of it one is dropped, after all use of the others.
    pub unsafe fn from_raw(raw: NonNull<()>) -> Self {
        // SAFETY: the caller's promise.
        Self::of(TableShared(unsafe { ThinArc::from_ptr(raw.as_ptr().cast()) }))
    }
}
