//! What the Python package `springflash` calls: opens and asks the crates of flash. Batches, defaults and types are in Python, in
//! `springflash/`. Whatever reads or writes a file releases the interpreter meanwhile.
#![deny(unsafe_code)]
#![allow(missing_docs, reason = "the Python classes say what everything does")]

mod attention;
mod error;
mod filter;
mod handle;
mod index;
mod keys;
mod lock;
mod near;
mod opened;
mod spare;

use pyo3::prelude::*;

#[pymodule]
mod _springflash {
    use super::*;

    #[pymodule_export]
    use super::error::{
        ClosedError, DamagedError, FlashError, ForkedError, FullError, InUseError, ReadOnlyError,
    };
    #[pymodule_export]
    use super::filter::Filter;
    #[pymodule_export]
    use super::index::{Index, Scan};
    #[pymodule_export]
    use super::lock::FolderLock;
    #[pymodule_export]
    use super::near::Near;
    #[pymodule_export]
    use super::opened::Opened;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
