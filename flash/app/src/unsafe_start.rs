//! What the process was started with. Before `main`, the standard library puts `/dev/null` in the place of a closed standard output, and
//! what is printed would be lost without an error.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};

static IS_OUTPUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether standard output was closed at the start.
pub(crate) fn is_output_closed() -> bool {
    IS_OUTPUT_CLOSED.load(Ordering::Relaxed)
}

extern "C" fn look() {
    let found = rustix::io::fcntl_getfd(rustix::stdio::stdout());
    IS_OUTPUT_CLOSED.store(found.is_err(), Ordering::Relaxed);
}

#[used]
// SAFETY: the C library calls the functions of this section before `main`, on one thread. The function ignores their arguments, and makes a
// system call and an atomic write, for which nothing has to be set up.
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;
