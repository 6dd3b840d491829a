//! What a table goes through that could not be opened at once, whatever it waits with and has once it is open: it *waits* for its
//! directory, *reads* it, is *open*, or is *closed*.
//!
//! The mutex of `waits` decides between an opening and a closing: who takes out what it holds has won, and no file is touched meanwhile.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU32, Ordering},
};

use parking_lot::Mutex;

/// A table that waits with a `W`, and has `U` once it is open.
#[repr(C)]
pub(crate) struct TableLife<W, U> {
    /// The word that `sb_table_is_open` looks at, and so the first field: 1 from when it is open.
    is_open: AtomicU32,
    units: OnceLock<U>,
    /// While it waits or reads.
    waits: Mutex<Option<Arc<W>>>,
}

impl<W, U> TableLife<W, U> {
    pub(crate) fn waiting(with: W) -> Self {
        Self { is_open: AtomicU32::new(0), units: OnceLock::new(), waits: Mutex::new(Some(Arc::new(with))) }
    }

    /// `None` while it is not open.
    #[inline]
    pub(crate) fn units(&self) -> Option<&U> {
        self.units.get()
    }

    /// Looks at what it waits or reads with; `None` once it is open or closed. Takes no share in it.
    pub(crate) fn while_waiting<T>(&self, look: impl FnOnce(&W) -> T) -> Option<T> {
        self.waits.lock().as_deref().map(look)
    }

    /// It is not opened any more, if it waits or reads. Gives what it waited with. Does not wait for a read.
    pub(crate) fn stop_waiting(&self) -> Option<Arc<W>> {
        self.waits.lock().take()
    }

    /// A try to open it, as long as it waits. `read` may touch files; `register` makes of what was read what an open table has, and touches
    /// none. Each may err with why the table goes on waiting, or with nothing if it never will be open. Gives why it waits.
    pub(crate) fn try_to_open<R, Why>(
        &self,
        read: impl FnOnce(&W) -> Result<R, Option<Why>>,
        register: impl FnOnce(R, &W) -> Result<U, Option<Why>>,
    ) -> Option<Why> {
        // Shares of all that is used.
        let with = self.waits.lock().clone()?;
        let read = read(&with);
        let mut waits = self.waits.lock();
        // It was closed meanwhile.
        waits.as_ref()?;
        let why = match read.and_then(|read| register(read, &with)) {
            Ok(units) => {
                _ = self.units.set(units);
                self.is_open.store(1, Ordering::Release);
                None
            }
            Err(why) => why,
        };
        let ended = if why.is_none() { waits.take() } else { None };
        drop(waits);
        drop(ended);
        why
    }
}
