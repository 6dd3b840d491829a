//! What is to be done before a signal ends the process, which runs no destructors then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, thread};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

const PAUSE: Duration = Duration::from_millis(10);

/// Whether a signal is about to end the process.
pub(crate) struct Ending(Arc<AtomicBool>);

impl Ending {
    /// If one is, waits for that: what fails meanwhile fails because of what is done before the end.
    pub(crate) fn wait(&self) {
        while self.0.load(Ordering::Acquire) {
            thread::sleep(PAUSE);
        }
    }
}

/// Whether a process with this `/proc/self/status` ignores a signal, as `nohup` makes it ignore SIGHUP: then it stays so.
fn ignores(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

/// Does `clean_up` in a thread of its own when a signal comes that ends a process, and ends it as by that signal.
///
/// # Errors
/// Those of the system.
pub(crate) fn before_a_signal_ends_us(clean_up: impl FnOnce() + Send + 'static) -> Result<Ending> {
    let is_ending = Arc::new(AtomicBool::new(false));
    let ending = Ending(is_ending.clone());
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ending_ones =
        [SIGHUP, SIGINT, SIGQUIT, SIGTERM].into_iter().filter(|&signal| !ignores(&status, signal));
    let mut signals = Signals::new(ending_ones).context("cannot wait for signals")?;
    let wait = move || {
        let Some(signal) = signals.forever().next() else { return };
        is_ending.store(true, Ordering::Release);
        clean_up();
        // Ends the process.
        _ = emulate_default_handler(signal);
        is_ending.store(false, Ordering::Release);
    };
    thread::Builder::new().name("signals".to_owned()).spawn(wait).context("cannot start a thread")?;
    Ok(ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_told_by_the_kernels_mask() {
        let status = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000002\n";
        assert!(ignores(status, SIGHUP) && !ignores(status, SIGINT) && !ignores("", SIGHUP));
    }
}
