//! What `Filter` and `Index` have in common: a folder that is open until it is closed.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;

use crate::attention::Progress;
use crate::handle::{Closes, Handle};

#[pyclass(subclass, frozen, module = "springflash._springflash")]
pub(crate) struct Opened(Arc<dyn Closes>);

impl Opened {
    pub(crate) fn new<T: Send + Sync + 'static>(handle: &Arc<Handle<T>>) -> PyClassInitializer<Opened> {
        PyClassInitializer::from(Opened(handle.clone()))
    }
}

#[pymethods]
impl Opened {
    /// The folder.
    #[getter]
    fn path(&self) -> PathBuf {
        self.0.folder().to_owned()
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self, py: Python<'_>) -> PyResult<bool> {
        self.0.is_closed(py)
    }

    /// Makes all changes durable and closes, so that the next opening has nothing to recover. Waits for the calls of other threads. `with`
    /// does the same at its end. `progress(done, total)` is called at the first step, then some ten times a second, and at the end.
    ///
    /// An interrupt, or what `progress` raises, ends it early. It is closed then all the same, and all changes are durable: only the
    /// next opening has more to do. Making them durable waits for the disk and is not interrupted. `closed` is False if it still
    /// waited for another thread.
    #[pyo3(signature = (progress=None))]
    fn close(&self, py: Python<'_>, progress: Progress) -> PyResult<()> {
        self.0.close(py, &progress)
    }
}
