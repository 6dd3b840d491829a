//! A structure that is open until it is closed, in the process that opened it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use pyo3::prelude::*;
use springbloom_flash_filter::{FlashError, Watch};

use crate::attention::{PAUSE, Progress, attended, is_waiting};
use crate::error::Fault;
use crate::spare::require_spare;

/// What is open in a folder. `T` is used by any number of threads, and closed by one.
pub(crate) struct Handle<T> {
    pub(crate) folder: PathBuf,
    process: u32,
    close: Close<T>,
    /// Taken only without the interpreter, as its holder may wait for that.
    open: RwLock<Option<T>>,
}

/// Opens a folder in one way.
type Open<'o, T> = &'o (dyn Fn(&Path, &mut Watch<'_>) -> Result<T, FlashError> + Sync);
type Close<T> = fn(T, &mut Watch<'_>) -> Result<(), FlashError>;

impl<T: Send + Sync> Handle<T> {
    /// Opens `folder` in `mode`: `r` to read, `w` to write what is there, `x` to make it, `c` to make it if nothing is there.
    pub(crate) fn new(
        py: Python<'_>,
        folder: PathBuf,
        mode: &str,
        [read, write, make]: [Open<'_, T>; 3],
        close: Close<T>,
        progress: &Progress,
    ) -> PyResult<Arc<Handle<T>>> {
        let opened = attended(py, progress, &[], |watch| {
            require_spare()?;
            let opened = match mode {
                "r" => read(&folder, watch),
                "w" => write(&folder, watch),
                "x" => make(&folder, watch),
                _ => match write(&folder, watch) {
                    Err(error) if is_missing(&error) => made(&folder, make, write, watch),
                    opened => opened,
                },
            };
            Ok(opened?)
        });
        let opened = opened.map_err(|fault| fault.raised(py, &folder))?;
        Ok(Arc::new(Handle { folder, process: std::process::id(), close, open: RwLock::new(Some(opened)) }))
    }

    /// Calls `work` with what is open, without the interpreter.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&T) -> Result<R, FlashError> + Send,
    ) -> PyResult<R> {
        let done = self.usable().and_then(|()| {
            py.detach(|| match &*self.open.read() {
                Some(open) => Ok(work(open)?),
                None => Err(Fault::Closed),
            })
        });
        done.map_err(|fault| fault.raised(py, &self.folder))
    }

    /// The same for work that takes long.
    pub(crate) fn with_watch<R: Send>(
        &self,
        py: Python<'_>,
        progress: &Progress,
        work: impl FnOnce(&T, &mut Watch<'_>) -> Result<R, FlashError> + Send,
    ) -> PyResult<R> {
        let done = self.usable().and_then(|()| {
            attended(py, progress, &[self.address()], |watch| match &*self.open.read() {
                Some(open) => Ok(work(open, watch)?),
                None => Err(Fault::Closed),
            })
        });
        done.map_err(|fault| fault.raised(py, &self.folder))
    }

    /// The same with what another handle has open.
    pub(crate) fn both(
        &self,
        py: Python<'_>,
        other: &Handle<T>,
        progress: &Progress,
        work: impl FnOnce(&T, &T, &mut Watch<'_>) -> Result<(), FlashError> + Send,
    ) -> PyResult<()> {
        other.usable().map_err(|fault| fault.raised(py, &other.folder))?;
        // The second one passes threads that wait to close `other`: they may wait for one that has read it, and now waits for `self`.
        let done = self.usable().and_then(|()| {
            attended(py, progress, &[self.address(), other.address()], |watch| {
                match (&*self.open.read(), &*other.open.read_recursive()) {
                    (Some(open), Some(other)) => Ok(work(open, other, watch)?),
                    _ => Err(Fault::Closed),
                }
            })
        });
        done.map_err(|fault| fault.raised(py, &self.folder))
    }

    /// Waits for the calls of other threads, then closes. Does nothing if it is closed. It stays open only if what ends it early comes
    /// while it waits.
    pub(crate) fn close(&self, py: Python<'_>, progress: &Progress) -> PyResult<()> {
        let done = self.usable().and_then(|()| {
            attended(py, progress, &[self.address()], |watch| {
                let mut open = loop {
                    match self.open.try_write_for(PAUSE) {
                        Some(open) => break open,
                        None => watch.advance(0)?,
                    }
                };
                Ok(open.take().map_or(Ok(()), |open| (self.close)(open, watch))?)
            })
        });
        done.map_err(|fault| fault.raised(py, &self.folder))
    }

    pub(crate) fn is_closed(&self, py: Python<'_>) -> PyResult<bool> {
        let done = self.usable_here().map(|()| py.detach(|| self.open.read().is_none()));
        done.map_err(|fault| fault.raised(py, &self.folder))
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// In a forked process the lock may be held by a thread that is not there, so it is not even asked for. Neither is it where a call on
    /// this thread holds it.
    fn usable_here(&self) -> Result<(), Fault> {
        match () {
            () if self.process != std::process::id() => Err(Fault::Forked),
            () if is_waiting(self.address()) => Err(Fault::Waiting),
            () => Ok(()),
        }
    }

    /// The same, with memory for a call.
    fn usable(&self) -> Result<(), Fault> {
        self.usable_here()?;
        Ok(require_spare()?)
    }
}

impl<T> Drop for Handle<T> {
    /// Closes what the program forgot to close. In a forked process, leaves all to the one that opened it: its lock as well.
    fn drop(&mut self) {
        let Some(open) = self.open.get_mut().take() else { return };
        if self.process != std::process::id() {
            std::mem::forget(open);
        } else if require_spare().is_ok() {
            // Nobody is there to hear of an error. What was committed is durable.
            let _ = (self.close)(open, &mut Watch::none());
        }
    }
}

/// Makes what could not be opened as it is missing. What else is in the folder, `make` refuses.
fn made<T>(
    folder: &Path,
    make: Open<'_, T>,
    write: Open<'_, T>,
    watch: &mut Watch<'_>,
) -> Result<T, FlashError> {
    match make(folder, watch) {
        Err(FlashError::NotEmpty { name, got }) => match write(folder, watch) {
            // Another process may have made it meanwhile.
            Err(error) if is_missing(&error) => Err(FlashError::NotEmpty { name, got }),
            opened => opened,
        },
        made => made,
    }
}

fn is_missing(error: &FlashError) -> bool {
    matches!(error, FlashError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
        || matches!(error, FlashError::NotFound { .. })
}
