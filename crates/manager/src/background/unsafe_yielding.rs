//! A thread that lets others finish.

#![allow(unsafe_code)]

/// From now on, the calling thread and those that it starts do not take a core from a running thread when they wake up: they wait for the
/// end of its slice. Else a flush or a lookup that wakes them loses its core to them. They get as much of the processor as before. Where
/// the system refuses it, nothing changes.
pub(super) fn yield_to_others() {
    // SAFETY: an all-zero `sched_param` is a valid one, and it lives for the call.
    unsafe {
        let parameters: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_BATCH, &parameters);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calling_thread_alone_yields() {
        // SAFETY: it takes and gives numbers.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        let before = policy();
        let yielding = std::thread::spawn(move || {
            yield_to_others();
            (policy(), std::thread::spawn(policy).join().expect("no panic"))
        });
        assert_eq!(yielding.join().expect("no panic"), (libc::SCHED_BATCH, libc::SCHED_BATCH));
        assert_eq!(policy(), before);
    }
}
