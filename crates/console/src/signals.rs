//! A process that ends with the one that started it.

use std::env;

use signal_hook::consts::SIGTERM;
use signal_hook::low_level::emulate_default_handler;

/// The number of the process that a process must not outlive.
pub const PARENT_VARIABLE: &str = "SPRINGBLOOM_PARENT";

/// If the process that started this one asks for it by [`PARENT_VARIABLE`], sends this one SIGTERM when that one ends, however it ends.
pub fn end_with_parent() {
    let Some(parent) = env::var(PARENT_VARIABLE).ok().and_then(|pid| pid.parse::<i32>().ok()) else { return };
    // Without it, this process goes on alone.
    _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
    if rustix::process::getppid().is_none_or(|pid| pid.as_raw_nonzero().get() != parent) {
        // It ended before it could be watched.
        _ = emulate_default_handler(SIGTERM);
    }
}
