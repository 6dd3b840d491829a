//! Bytes that cross the C interface.

use std::{ptr, slice};

/// Bytes that somebody else owns: `sb_bytes`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Bytes {
    /// May be null when `size` is 0.
    pub data: *const u8,
    /// How many there are.
    pub size: usize,
}

impl Bytes {
    pub(crate) fn empty() -> Self {
        Self { data: ptr::null(), size: 0 }
    }

    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr(), size: bytes.len() }
    }

    /// The bytes.
    ///
    /// # Safety
    /// `data` points to `size` readable bytes that nobody writes while the result is in use; it may be null when `size` is 0.
    pub unsafe fn get<'a>(self) -> &'a [u8] {
        // SAFETY: by the caller's promise.
        unsafe { bytes_at(self.data, self.size) }
    }
}

/// # Safety
/// `data` points to `size` readable bytes that nobody writes while the result is in use; it may be null when `size` is 0.
pub(crate) unsafe fn bytes_at<'a>(data: *const u8, size: usize) -> &'a [u8] {
    if size == 0 {
        return &[];
    }
    // SAFETY: by the caller's promise.
    unsafe { slice::from_raw_parts(data, size) }
}
