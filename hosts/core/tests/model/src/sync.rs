//! The scheduler's locks, with the interface of those of the product.

use std::ops::{Deref, DerefMut};

#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

pub(crate) struct MutexGuard<'a, T>(Option<shuttle::sync::MutexGuard<'a, T>>);

#[derive(Debug, Default)]
pub(crate) struct Condvar(shuttle::sync::Condvar);

impl<T> Mutex<T> {
    pub(crate) fn new(content: T) -> Self {
        Self(shuttle::sync::Mutex::new(content))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(self.0.lock().expect("no thread panics with it")))
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("it is locked")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("it is locked")
    }
}

impl Condvar {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn wait_while<T>(&self, guard: &mut MutexGuard<'_, T>, mut waits: impl FnMut(&mut T) -> bool) {
        while waits(guard) {
            let locked = guard.0.take().expect("it is locked");
            guard.0 = Some(self.0.wait(locked).expect("no thread panics with it"));
        }
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}
