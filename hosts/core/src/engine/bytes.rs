//! Bytes that cross the C interface.

use std::{marker::PhantomData, slice};

/// Bytes that somebody else owns: `sb_bytes`. By the header, those that the engine's adapter gives are readable while they are lent.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Bytes<'a> {
    /// May be null when `size` is 0.
    pub(crate) data: *const u8,
    pub(crate) size: usize,
    lent: PhantomData<&'a [u8]>,
}

impl<'a> Bytes<'a> {
    /// These bytes.
    pub fn of(bytes: &'a [u8]) -> Self {
        Self { data: bytes.as_ptr(), size: bytes.len(), lent: PhantomData }
    }

    /// The bytes.
    pub fn get(self) -> &'a [u8] {
        if self.size == 0 {
            return &[];
        }
        // SAFETY: made of such bytes by `of`, or by the adapter, which lends them.
        unsafe { slice::from_raw_parts(self.data, self.size) }
    }
}
