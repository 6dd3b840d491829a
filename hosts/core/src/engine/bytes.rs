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

    /// These bytes, which outlive it.
    pub fn of(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr(), size: bytes.len() }
    }

    /// The bytes.
    ///
    /// # Safety
    /// `data` points to `size` readable bytes that nobody writes while the result is in use; it may be null when `size` is 0.
    pub unsafe fn get<'a>(self) -> &'a [u8] {
        if self.size == 0 {
            return &[];
        }
        // SAFETY: by the caller's promise.
        unsafe { slice::from_raw_parts(self.data, self.size) }
    }
}
