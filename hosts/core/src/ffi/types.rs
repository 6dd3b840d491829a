//! Structures of `include/springbloom_abi.h`.

use std::{
    ffi::{c_char, c_int},
    ptr,
};

use springbloom_filter::KeyDigest;

use crate::engine::{Bytes, Comparator};

/// A key of a batch.
#[repr(C)]
pub(super) struct BatchKey<'a> {
    pub(super) key: Bytes<'a>,
    pub(super) digest: KeyDigest,
    pub(super) segment: u32,
    pub(super) may_match: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) name: Bytes<'a>,
    pub(super) value: Bytes<'a>,
}

#[repr(C)]
pub(super) struct TableSpec<'a> {
    pub(super) path: Bytes<'a>,
    pub(super) file_number: u64,
    pub(super) level: i32,
    pub(super) contents: c_int,
    pub(super) comparator: Comparator,
    pub(super) family: Bytes<'a>,
    pub(super) index_bytes: u64,
}

/// The head is sound, or the table open.
pub(super) const OPENED: c_int = 0;

/// How a lookup of a key that may match ended.
#[repr(C)]
#[expect(dead_code, reason = "the adapter makes them")]
pub(super) enum Ended {
    Missing,
    Found,
    NotRead,
}

/// Where a cursor goes.
#[repr(C)]
#[expect(dead_code, reason = "the adapter makes them")]
pub(super) enum Move {
    First,
    Last,
    Seek,
    Next,
    Previous,
}

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
