//! A thread that lets others finish.

#![allow(unsafe_code)]

/// From now on, the calling thread and those that it starts do not take a core from a running thread when they wake up: they wait for the
/// end of its slice. Else a flush or a lookup that wakes them loses its core to them. They get as much of the processor as before. Where
/// the system refuses it, or the process runs as what is idle or real-time, nothing changes.
pub(super) fn yield_to_others() {
    // SAFETY: an all-zero `sched_param` is a valid one, and it lives for the call.
    unsafe {
        let parameters: libc::sched_param = std::mem::zeroed();
        if libc::sched_getscheduler(0) == libc::SCHED_OTHER {
            libc::sched_setscheduler(0, libc::SCHED_BATCH, &parameters);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calling_thread_alone_yields_unless_it_is_idle() {
        // SAFETY: it takes and gives numbers.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        let before = policy();
        let idle = std::thread::spawn(move || {
            // SAFETY: as above.
            let parameters: libc::sched_param = unsafe { std::mem::zeroed() };
            // SAFETY: the parameters live for the call.
            assert_eq!(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameters) }, 0);
            yield_to_others();
            policy()
        });
        assert_eq!(idle.join().expect("no panic"), libc::SCHED_IDLE);
        let yielding = std::thread::spawn(move || {
            yield_to_others();
            (policy(), std::thread::spawn(policy).join().expect("no panic"))
        });
        assert_eq!(yielding.join().expect("no panic"), (libc::SCHED_BATCH, libc::SCHED_BATCH));
        assert_eq!(policy(), before);
    }
}
