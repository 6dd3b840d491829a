//! Locks that a panic elsewhere does not take away.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`. What it guards is sound whenever it is let go of, so a panic of a holder changes nothing.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
