//! A structure that is open until it is closed, in the process that opened it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{MappedRwLockReadGuard, RwLock, RwLockReadGuard};
use pyo3::prelude::*;
use springbloom_flash_filter::{Access, FlashError, Watch};

use crate::attention::{PAUSE, Progress, attended, is_waiting};
use crate::error::Fault;
use crate::spare::require_spare;

/// A handle of any structure.
pub(crate) trait Closes: Send + Sync {
    fn folder(&self) -> &Path;
    fn is_closed(&self, py: Python<'_>) -> PyResult<bool>;
    /// Waits for the calls of other threads, then closes. Does nothing if it is closed. It stays open only if what ends it early comes
    /// while it waits.
    fn close(&self, py: Python<'_>, progress: &Progress) -> PyResult<()>;
}

/// What is open in a folder. `T` is used by any number of threads, and closed by one.
pub(crate) struct Handle<T> {
    pub(crate) folder: PathBuf,
    process: u32,
    close: Close<T>,
    /// Taken only without the interpreter, as its holder may wait for that.
    open: RwLock<Option<T>>,
}

/// Opens what is in a folder.
type Open<'o, T> = &'o (dyn Fn(&Path, Access, &mut Watch<'_>) -> Result<T, FlashError> + Sync);
/// Makes it there.
type Make<'o, T> = &'o (dyn Fn(&Path, &mut Watch<'_>) -> Result<T, FlashError> + Sync);
type Close<T> = fn(T, &mut Watch<'_>) -> Result<(), FlashError>;

impl<T: Send + Sync> Handle<T> {
    /// Opens `folder` in `mode`: `r` to read, `w` to write what is there, `x` to make it, `c` to make it if nothing is there.
    pub(crate) fn new(
        py: Python<'_>,
        folder: PathBuf,
        mode: &str,
        open: Open<'_, T>,
        make: Make<'_, T>,
        close: Close<T>,
        progress: &Progress,
    ) -> PyResult<Arc<Handle<T>>> {
        let opened = attended(py, progress, &[], |watch| {
            require_spare()?;
            Ok(match mode {
                "r" => open(&folder, Access::Read, watch),
                "w" => open(&folder, Access::Write, watch),
                "x" => make(&folder, watch),
                _ => match open(&folder, Access::Write, watch) {
                    // What else is in the folder, `make` refuses.
                    Err(error) if error.is_missing() => match make(&folder, watch) {
                        // Another process may have made it meanwhile.
                        Err(refused @ FlashError::NotEmpty { .. }) => {
                            match open(&folder, Access::Write, watch) {
                                Err(error) if error.is_missing() => Err(refused),
                                opened => opened,
                            }
                        }
                        made => made,
                    },
                    opened => opened,
                },
            }?)
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
        self.guarded(py, || py.detach(|| Ok(work(&*opened(self.open.read())?)?)))
    }

    /// The same for work that takes long.
    pub(crate) fn with_watch<R: Send>(
        &self,
        py: Python<'_>,
        progress: &Progress,
        work: impl FnOnce(&T, &mut Watch<'_>) -> Result<R, FlashError> + Send,
    ) -> PyResult<R> {
        let work = |watch: &mut Watch<'_>| Ok(work(&*opened(self.open.read())?, watch)?);
        self.guarded(py, || attended(py, progress, &[self.address()], work))
    }

    /// The same with what another handle has open.
    pub(crate) fn both(
        &self,
        py: Python<'_>,
        other: &Handle<T>,
        progress: &Progress,
        work: impl FnOnce(&T, &T, &mut Watch<'_>) -> Result<(), FlashError> + Send,
    ) -> PyResult<()> {
        other.guarded(py, || Ok(()))?;
        // The second one passes threads that wait to close `other`: they may wait for one that has read it, and now waits for `self`.
        let work = |watch: &mut Watch<'_>| {
            let (open, other) = (opened(self.open.read())?, opened(other.open.read_recursive())?);
            Ok(work(&open, &other, watch)?)
        };
        self.guarded(py, || attended(py, progress, &[self.address(), other.address()], work))
    }

    /// Does `work` if the handle is usable, with memory for a call.
    fn guarded<R>(&self, py: Python<'_>, work: impl FnOnce() -> Result<R, Fault>) -> PyResult<R> {
        let done = self.usable_here().and_then(|()| Ok(require_spare()?)).and_then(|()| work());
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
}

/// What is open, unless it is closed.
fn opened<T>(open: RwLockReadGuard<'_, Option<T>>) -> Result<MappedRwLockReadGuard<'_, T>, Fault> {
    RwLockReadGuard::try_map(open, Option::as_ref).map_err(|_| Fault::Closed)
}

impl<T: Send + Sync> Closes for Handle<T> {
    fn folder(&self) -> &Path {
        &self.folder
    }

    fn is_closed(&self, py: Python<'_>) -> PyResult<bool> {
        let done = self.usable_here().map(|()| py.detach(|| self.open.read().is_none()));
        done.map_err(|fault| fault.raised(py, &self.folder))
    }

    fn close(&self, py: Python<'_>, progress: &Progress) -> PyResult<()> {
        let close = |watch: &mut Watch<'_>| {
            let mut open = loop {
                match self.open.try_write_for(PAUSE) {
                    Some(open) => break open,
                    None => watch.advance(0)?,
                }
            };
            Ok(open.take().map_or(Ok(()), |open| (self.close)(open, watch))?)
        };
        self.guarded(py, || attended(py, progress, &[self.address()], close))
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
