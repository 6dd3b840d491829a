//! Owns what the engine lends for as long as something of it is open. It is used only within the gate, and is given back when the gate is
//! closed: what else knows the gate, a queued chore or a thread that looks around, keeps nothing of the engine's.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

/// Open until it is closed for good.
#[derive(Debug)]
pub(crate) struct Gate<T> {
    state: Mutex<State<T>>,
    left: Condvar,
}

#[derive(Debug)]
struct State<T> {
    /// `None` once it is closed. Those inside have shares.
    lent: Option<Arc<T>>,
    inside: usize,
}

impl<T> Gate<T> {
    pub(crate) fn new(lent: T) -> Self {
        Self { state: Mutex::new(State { lent: Some(Arc::new(lent)), inside: 0 }), left: Condvar::new() }
    }

    /// Uses what is lent, unless the gate is closed; `None` then.
    pub(crate) fn enter<R>(&self, run: impl FnOnce(&T) -> R) -> Option<R> {
        let lent = {
            let mut state = self.state.lock();
            let lent = state.lent.clone()?;
            state.inside += 1;
            lent
        };
        // Also leaves on a panic.
        let inside = Inside { gate: self, lent: Some(lent) };
        inside.lent.as_deref().map(run)
    }

    pub(crate) fn is_open(&self) -> bool {
        self.state.lock().lent.is_some()
    }

    /// Nobody enters from here on. The last one of those inside gives back what is lent.
    pub(crate) fn shut(&self) {
        let lent = self.state.lock().lent.take();
        drop(lent);
    }

    /// When this returns, nobody is inside, nobody will be, and what was lent is given back. The one place where something that is closed
    /// waits.
    pub(crate) fn close(&self) {
        let lent = {
            let mut state = self.state.lock();
            let lent = state.lent.take();
            self.left.wait_while(&mut state, |state| state.inside > 0);
            lent
        };
        drop(lent);
    }
}

struct Inside<'a, T> {
    gate: &'a Gate<T>,
    lent: Option<Arc<T>>,
}

impl<T> Drop for Inside<'_, T> {
    fn drop(&mut self) {
        // First, and without the lock: it may be the last share.
        self.lent = None;
        self.gate.state.lock().inside -= 1;
        self.gate.left.notify_all();
    }
}
