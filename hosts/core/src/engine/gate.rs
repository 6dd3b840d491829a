//! Guards accesses to a database's files: they are made only while the database is open.

use parking_lot::{Condvar, Mutex};

/// Open until it is closed for good. Closing waits for accesses under way.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    left: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_closed: bool,
    inside: usize,
}

impl Gate {
    /// Runs `run` unless the gate is closed; `None` then.
    pub(crate) fn enter<T>(&self, run: impl FnOnce() -> T) -> Option<T> {
        {
            let mut state = self.state.lock();
            if state.is_closed {
                return None;
            }
            state.inside += 1;
        }
        // Also leaves on a panic.
        let _inside = Inside(self);
        Some(run())
    }

    /// Nobody enters from here on. Those inside may be there for longer.
    pub(crate) fn shut(&self) {
        self.state.lock().is_closed = true;
    }

    /// When this returns, nobody is inside, and nobody will be. The one place where something that is closed waits.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        self.left.wait_while(&mut state, |state| state.inside > 0);
    }
}

struct Inside<'a>(&'a Gate);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.state.lock().inside -= 1;
        self.0.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicBool, Ordering},
        thread,
        time::Duration,
    };

    use super::*;

    #[test]
    fn closing_waits_for_those_inside_and_lets_nobody_in_again() {
        let (gate, is_inside, has_left) = (Gate::default(), AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                gate.enter(|| {
                    is_inside.store(true, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(50));
                    has_left.store(true, Ordering::SeqCst);
                })
            });
            while !is_inside.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            gate.close();
            assert!(has_left.load(Ordering::SeqCst));
        });
        assert_eq!(gate.enter(|| 1), None);
    }
}
