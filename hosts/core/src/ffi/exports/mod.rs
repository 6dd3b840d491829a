//! Functions that an engine's adapter calls. None unwinds: a panic is caught and answered as "no units".
//!
//! What they are given is valid by the header: a reference stands for a pointer that is borrowed for the call, a box or a [`Shared`] for
//! one that is owned, an option for one that may be null, and [`Bytes`] can be read during the call.

mod builder;
mod filters;
mod index;
mod lookup;
mod table;

use std::{
    ffi::c_char,
    panic::{AssertUnwindSafe, catch_unwind},
};

use super::types::write_message;

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

#[cfg(test)]
mod tests {
    use springbloom_testkit::header::noexcept_functions;

    use super::guarded;

    #[test]
    fn a_panic_is_answered() {
        assert_eq!(guarded(7, || panic!("expected by the test")), 7);
    }

    #[test]
    fn every_function_that_crosses_the_border_catches_what_is_thrown() {
        let sources = [
            include_str!("builder.rs"),
            include_str!("filters.rs"),
            include_str!("index.rs"),
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
        let declared = noexcept_functions(include_str!("../../../include/springbloom_abi.h"), " sb_");
        assert_eq!(declared, exports.len(), "the header declares them all");
    }
}
