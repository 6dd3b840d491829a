//! Structures of `include/springbloom_abi.h`.

use std::{
    ffi::{c_char, c_int},
    ptr,
};

use springbloom_filter::KeyDigest;

use crate::engine::{Bytes, Comparator};

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Digest {
    pub(super) lo: u64,
    pub(super) hi: u64,
}

impl From<KeyDigest> for Digest {
    fn from(KeyDigest { lo, hi }: KeyDigest) -> Self {
        Self { lo, hi }
    }
}

impl From<Digest> for KeyDigest {
    fn from(Digest { lo, hi }: Digest) -> Self {
        Self { lo, hi }
    }
}

/// A key of a batch.
#[repr(C)]
pub(super) struct BatchKey {
    pub(super) key: Bytes,
    pub(super) digest: Digest,
    pub(super) segment: u32,
    pub(super) may_match: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Setting {
    pub(super) name: Bytes,
    pub(super) value: Bytes,
}

#[repr(C)]
pub(super) struct TableSpec {
    pub(super) path: Bytes,
    pub(super) file_number: u64,
    pub(super) level: i32,
    pub(super) contents: c_int,
    pub(super) comparator: Comparator,
    pub(super) family: Bytes,
    pub(super) index_bytes: u64,
}

pub(super) const UNKNOWN_CONTENTS: c_int = 0;
pub(super) const KEYS: c_int = 1;
pub(super) const KEYS_BEFORE_PREFIXES: c_int = 2;
pub(super) const PREFIXES: c_int = 3;

pub(super) const OPENED: c_int = 0;

/// Writes a message that ends in NUL, cut to the buffer's size. A NUL within it, as a setting may have, is shown.
///
/// # Safety
/// `buffer` points to `size` writable bytes.
pub(super) unsafe fn write_message(buffer: *mut c_char, size: usize, message: &str) {
    if size == 0 {
        return;
    }
    let message = message.replace('\0', "\\0");
    let length = message.len().min(size - 1);
    // SAFETY: `length` + 1 bytes fit the buffer, and a message cannot overlap it.
    unsafe {
        ptr::copy_nonoverlapping(message.as_ptr(), buffer.cast(), length);
        *buffer.add(length) = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    #[test]
    fn messages_are_cut_and_show_what_would_end_them() {
        for (size, written) in [(9, "got 64\\0"), (8, "got 64\\"), (64, "got 64\\0M"), (1, "")] {
            let mut buffer = [1; 64];
            // SAFETY: the buffer has this many bytes.
            unsafe { write_message(buffer.as_mut_ptr(), size, "got 64\0M") };
            let text = CStr::from_bytes_until_nul(buffer.map(|byte| byte as u8).as_slice())
                .expect("it ends")
                .to_owned();
            assert_eq!(text.to_str(), Ok(written));
            assert_eq!(buffer.get(size).copied().unwrap_or(1), 1);
        }
    }
}
