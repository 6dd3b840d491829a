//! A structure that is open until it is closed, in the process that opened it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use pyo3::prelude::*;
use springbloom_flash_filter::FlashError;

use crate::error::Fault;

/// What is open in a folder. `T` is used by any number of threads, and closed by one.
pub(crate) struct Handle<T> {
    pub(crate) folder: PathBuf,
    process: u32,
    close: fn(T) -> Result<(), FlashError>,
    /// Taken only without the interpreter, as its holder may wait for that.
    open: RwLock<Option<T>>,
}

/// Opens a folder in one way.
type Open<'o, T> = &'o (dyn Fn(&Path) -> Result<T, FlashError> + Sync);

impl<T: Send + Sync> Handle<T> {
    /// Opens `folder` in `mode`: `r` to read, `w` to write what is there, `x` to make it, `c` to make it if nothing is there.
    pub(crate) fn new(
        py: Python<'_>,
        folder: PathBuf,
        mode: &str,
        [read, write, make]: [Open<'_, T>; 3],
        close: fn(T) -> Result<(), FlashError>,
    ) -> PyResult<Arc<Handle<T>>> {
        let opened = py.detach(|| match mode {
            "r" => read(&folder),
            "w" => write(&folder),
            "x" => make(&folder),
            _ => match write(&folder) {
                Err(error) if is_missing(&error) => made(&folder, error, make, write),
                opened => opened,
            },
        });
        let opened = opened.map_err(|error| Fault::from(error).raised(py, &folder))?;
        Ok(Arc::new(Handle { folder, process: std::process::id(), close, open: RwLock::new(Some(opened)) }))
    }

    /// Calls `work` with what is open, without the interpreter.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl Fn(&T) -> Result<R, FlashError> + Send + Sync,
    ) -> PyResult<R> {
        self.checked(py, || match &*self.open.read() {
            Some(open) => Ok(work(open)?),
            None => Err(Fault::Closed),
        })
    }

    /// The same with what another handle has open.
    pub(crate) fn both(
        &self,
        py: Python<'_>,
        other: &Handle<T>,
        work: impl Fn(&T, &T) -> Result<(), FlashError> + Send + Sync,
    ) -> PyResult<()> {
        other.checked(py, || Ok(()))?;
        // The second one passes threads that wait to close `other`: they may wait for one that has read it, and now waits for `self`.
        self.checked(py, || match (&*self.open.read(), &*other.open.read_recursive()) {
            (Some(open), Some(other)) => Ok(work(open, other)?),
            _ => Err(Fault::Closed),
        })
    }

    /// Waits for the calls of other threads, then closes. Does nothing if it is closed.
    pub(crate) fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.checked(py, || match self.open.write().take() {
            Some(open) => Ok((self.close)(open)?),
            None => Ok(()),
        })
    }

    pub(crate) fn is_closed(&self, py: Python<'_>) -> PyResult<bool> {
        self.checked(py, || Ok(self.open.read().is_none()))
    }

    /// In a forked process the lock may be held by a thread that is not there, so it is not even asked for.
    fn checked<R: Send>(
        &self,
        py: Python<'_>,
        work: impl Fn() -> Result<R, Fault> + Send + Sync,
    ) -> PyResult<R> {
        let done = if self.process == std::process::id() { py.detach(work) } else { Err(Fault::Forked) };
        done.map_err(|fault| fault.raised(py, &self.folder))
    }
}

impl<T> Drop for Handle<T> {
    /// Closes what the program forgot to close. In a forked process, leaves all to the one that opened it: its lock as well.
    fn drop(&mut self) {
        let Some(open) = self.open.get_mut().take() else { return };
        if self.process == std::process::id() {
            // Nobody is there to hear of an error. What was committed is durable.
            let _ = (self.close)(open);
        } else {
            std::mem::forget(open);
        }
    }
}

/// Makes what could not be opened as it is `missing`. What else is in the folder, `make` refuses.
fn made<T>(
    folder: &Path,
    missing: FlashError,
    make: Open<'_, T>,
    write: Open<'_, T>,
) -> Result<T, FlashError> {
    match (make(folder), missing) {
        (Err(FlashError::NotEmpty { name, got }), missing) => match write(folder) {
            // Another process may have made it meanwhile.
            Err(error) if is_missing(&error) => Err(match missing {
                FlashError::NotFound { .. } => FlashError::NotEmpty { name, got },
                // Of its files, one is not there.
                _ => FlashError::Incomplete { name, got },
            }),
            opened => opened,
        },
        (made, _) => made,
    }
}

fn is_missing(error: &FlashError) -> bool {
    matches!(error, FlashError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
        || matches!(error, FlashError::NotFound { .. })
}
