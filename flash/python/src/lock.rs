//! The lock of a folder that holds more than one structure, or the output of a program.

use std::path::PathBuf;

use parking_lot::Mutex;
use pyo3::prelude::*;

use crate::error::Fault;

/// A folder that nobody else has, until it is released or forgotten, by the process that locked it.
#[pyclass(frozen, module = "springflash._springflash")]
pub(crate) struct FolderLock {
    process: u32,
    lock: Mutex<Option<springbloom_flash_filter::FolderLock>>,
}

#[pymethods]
impl FolderLock {
    #[new]
    fn new(py: Python<'_>, folder: PathBuf) -> PyResult<FolderLock> {
        let lock = springbloom_flash_filter::FolderLock::new(&folder, true);
        let lock = lock.map_err(|error| Fault::from(error).raised(py, &folder))?;
        Ok(FolderLock { process: std::process::id(), lock: Mutex::new(Some(lock)) })
    }

    #[getter]
    fn is_released(&self) -> bool {
        self.lock.lock().is_none()
    }

    fn release(&self) {
        let lock = self.lock.lock().take();
        if self.process != std::process::id() {
            // The lock is of the process that this one was forked from.
            std::mem::forget(lock);
        }
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        self.release();
    }
}
