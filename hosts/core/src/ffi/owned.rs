//! What the other side of the C interface owns: shares in what is counted, and tables.
//!
//! `sb_table` is a pointer that is the handle of a table which was opened at once, or, with its lowest bit set, points to a late one. So
//! most tables take no bytes of their own here, and a lookup comes to the handle without a stop.

use std::{
    ffi::c_void,
    marker::PhantomData,
    mem::ManuallyDrop,
    ptr::{self, NonNull},
    sync::Arc,
};

use springbloom_manager::TableHandle;

use crate::tables::open_table::{LateTable, OpenTable};

/// A share that the other side owns, or a null pointer. By the header, the other side gives back what it was given.
#[repr(transparent)]
pub(super) struct Shared<T>(*const T);

impl<T> Shared<T> {
    pub(super) fn of(share: Option<Arc<T>>) -> Self {
        Self(share.map_or(ptr::null(), Arc::into_raw))
    }

    /// The share, which the other side gives up.
    pub(super) fn taken(self) -> Option<Arc<T>> {
        // SAFETY: `of` made it, and it is not used again.
        (!self.0.is_null()).then(|| unsafe { Arc::from_raw(self.0) })
    }

    /// Another share: the other side keeps its own.
    pub(super) fn again(&self) -> Option<Arc<T>> {
        // SAFETY: `of` made it, and it is alive.
        (!self.0.is_null()).then(|| unsafe {
            Arc::increment_strong_count(self.0);
            Arc::from_raw(self.0)
        })
    }
}

/// As `sb_table_is_open` of the header has it.
const IS_LATE: usize = 1;

/// A table that the other side owns, or a null pointer.
#[repr(transparent)]
pub(super) struct OwnedTable(*const c_void);

/// A table that the other side lends for a call.
#[repr(transparent)]
pub(super) struct LentTable<'a>(NonNull<c_void>, PhantomData<&'a OpenTable>);

impl OwnedTable {
    pub(super) fn of(table: Option<OpenTable>) -> Self {
        Self(match table {
            None => ptr::null(),
            Some(OpenTable::Open(handle)) => handle.into_raw().as_ptr().cast(),
            Some(OpenTable::Late(table)) => Arc::into_raw(table).cast::<c_void>().map_addr(|at| at | IS_LATE),
        })
    }

    /// The table, which the other side gives up.
    pub(super) fn taken(self) -> Option<OpenTable> {
        // SAFETY: by the header, the other side gives back what `of` gave it, and does not use it again.
        NonNull::new(self.0.cast_mut()).map(|pointer| unsafe { table_of(pointer) })
    }
}

impl LentTable<'_> {
    #[inline]
    pub(super) fn get(&self) -> ManuallyDrop<OpenTable> {
        // SAFETY: by the header, it is what `of` gave, and the other side keeps it for the call.
        ManuallyDrop::new(unsafe { table_of(self.0) })
    }
}

/// # Safety
/// `OwnedTable::of` gave the pointer, and the table is dropped once.
#[inline]
unsafe fn table_of(pointer: NonNull<c_void>) -> OpenTable {
    if pointer.addr().get() & IS_LATE == 0 {
        // SAFETY: the caller's promise: it was a handle.
        OpenTable::Open(unsafe { TableHandle::from_raw(pointer.cast()) })
    } else {
        let table = pointer.as_ptr().map_addr(|at| at & !IS_LATE).cast_const().cast::<LateTable>();
        // SAFETY: the caller's promise: it was a late one.
        OpenTable::Late(unsafe { Arc::from_raw(table) })
    }
}
