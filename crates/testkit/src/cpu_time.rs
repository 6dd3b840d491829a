//! Processor time, which does not depend on who else uses the machine.

use std::{fs, time::Duration};

/// The longest tick of a kernel: less is not told apart.
pub const TICK: Duration = Duration::from_millis(10);

/// Processor time of this thread so far, which the kernel may count by its ticks alone.
///
/// # Panics
/// If the system is not Linux.
pub fn cpu_time() -> Duration {
    let times = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells it");
    let nanoseconds = times.split(' ').next().and_then(|time| time.parse().ok());
    Duration::from_nanos(nanoseconds.expect("the first of three numbers"))
}
