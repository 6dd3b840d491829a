//! The C interface (`include/springbloom_abi.h`): what an engine's adapter calls. Every pointer's ownership stands in the header. No
//! function unwinds: a panic is caught and answered as "no units".
//!
//! What they are given is valid by the header: a reference stands for a pointer that is borrowed for the call, a box or a
//! [`Shared`](owned::Shared) for one that is owned, an option for one that may be null, and [`Bytes`](crate::Bytes) can be read during the
//! call.

#![allow(unsafe_code)]

mod builder;
mod filters;
#[cfg(test)]
mod layout;
mod lookup;
mod owned;
mod table;

use std::{
    ffi::{c_char, c_int},
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
};

/// The head is sound, or the table open.
const OPENED: c_int = 0;

/// Catches panics: none may cross into another language.
fn guarded<T>(on_panic: T, run: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(on_panic)
}

/// What `run` gives; `None` if it errs or panics, and the buffer says why.
///
/// # Safety
/// `error` is writable for `size` bytes.
unsafe fn told_guarded<T, E: ToString>(
    error: *mut c_char,
    size: usize,
    run: impl FnOnce() -> Result<T, E>,
) -> Option<T> {
    let run = || run().map_err(|error| error.to_string());
    // SAFETY: the caller's promise.
    let tell = |message: String| unsafe { write_message(error, size, &message) };
    guarded(Err("an internal fault".to_owned()), run).map_err(tell).ok()
}

/// Writes a message that ends in NUL, cut to the buffer's size. A NUL within it, as a setting may have, is shown.
///
/// # Safety
/// `buffer` points to `size` writable bytes.
unsafe fn write_message(buffer: *mut c_char, size: usize, message: &str) {
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

    use springbloom_testkit::header::noexcept_functions;

    use super::*;

    #[test]
    fn a_panic_is_answered() {
        assert_eq!(guarded(7, || panic!("expected by the test")), 7);
    }

    #[test]
    fn every_function_that_crosses_the_border_catches_what_is_thrown() {
        let sources = [
            include_str!("builder.rs"),
            include_str!("filters.rs"),
            include_str!("lookup.rs"),
            include_str!("table.rs"),
        ];
        let exports: Vec<_> =
            sources.iter().flat_map(|source| source.split("extern \"C\" fn sb_").skip(1)).collect();
        assert!(exports.len() > 30, "{} functions were found", exports.len());
        for export in &exports {
            let (name, body) = export.split_once('(').expect("a function has parameters");
            assert!(body.contains("guarded(") || body.contains("give("), "sb_{name} is not guarded");
        }
        let declared = noexcept_functions(include_str!("../../include/springbloom_abi.h"), " sb_");
        assert_eq!(declared, exports.len(), "the header declares them all");
    }

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
