//! Structures of `cpp/abi.h`, and of `springbloom_abi.h` as far as those have them.

use std::{
    ffi::{c_int, c_void},
    slice,
};

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Bytes {
    pub(super) data: *const u8,
    pub(super) size: usize,
}

impl Bytes {
    /// # Safety
    /// `data` points to `size` readable bytes that nobody writes while the result is in use.
    pub(super) unsafe fn get<'a>(self) -> &'a [u8] {
        // SAFETY: by the caller's promise.
        unsafe { bytes_at(self.data, self.size) }
    }
}

/// # Safety
/// `data` points to `size` readable bytes that nobody writes while the result is in use; it may be null when `size` is 0.
pub(super) unsafe fn bytes_at<'a>(data: *const u8, size: usize) -> &'a [u8] {
    if size == 0 {
        return &[];
    }
    // SAFETY: by the caller's promise.
    unsafe { slice::from_raw_parts(data, size) }
}

/// `springbloom_table_info`.
#[repr(C)]
pub(super) struct TableInfo {
    pub(super) file_bytes: u64,
    pub(super) entries: u64,
    pub(super) data_bytes: u64,
    pub(super) filter_bytes: u64,
    pub(super) filter_policy: Bytes,
    pub(super) session: Bytes,
    pub(super) orig_file_number: u64,
}

/// `springbloom_family_status`.
#[repr(C)]
#[derive(Default)]
pub(super) struct RawStatus {
    pub(super) is_active: c_int,
    pub(super) tables_with_units: u64,
    pub(super) tables_without_units: u64,
}

#[repr(C)]
pub(super) struct InspectSink {
    pub(super) context: *mut c_void,
    pub(super) table: unsafe extern "C" fn(*mut c_void, *const TableInfo),
    pub(super) block: unsafe extern "C" fn(*mut c_void, *const u8, usize),
}
