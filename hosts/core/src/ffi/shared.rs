//! Shares in what is counted, as they cross the C interface.

use std::{ptr, sync::Arc};

/// A share that the other side owns, or a null pointer. By the header, the other side gives back what it was given.
#[repr(transparent)]
pub(super) struct Shared<T>(*const T);

impl<T> Shared<T> {
    pub(super) fn of(share: Option<Arc<T>>) -> Self {
        Self(share.map_or(ptr::null(), Arc::into_raw))
    }

    /// The share, which the other side gives up.
    pub(super) fn taken(self) -> Option<Arc<T>> {
        // SAFETY: `of` made it, and it is not used again.
        (!self.0.is_null()).then(|| unsafe { Arc::from_raw(self.0) })
    }

    /// Another share: the other side keeps its own.
    pub(super) fn again(&self) -> Option<Arc<T>> {
        // SAFETY: `of` made it, and it is alive.
        (!self.0.is_null()).then(|| unsafe {
            Arc::increment_strong_count(self.0);
            Arc::from_raw(self.0)
        })
    }
}
