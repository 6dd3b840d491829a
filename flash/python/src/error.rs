//! Errors of the crates as Python exceptions.

use std::path::Path;

use pyo3::create_exception;
use pyo3::exceptions::{
    PyException, PyFileExistsError, PyFileNotFoundError, PyMemoryError, PyOSError, PyValueError,
};
use pyo3::prelude::*;
use springbloom_flash_filter::FlashError as Error;

create_exception!(
    springflash,
    FlashError,
    PyException,
    "A fault of a filter or an index: `path` is its folder, `reason` says why."
);
create_exception!(
    springflash,
    FullError,
    FlashError,
    "No room for a key. The first `added` keys of the call are in the filter."
);
create_exception!(springflash, InUseError, FlashError, "It is open already: one writes, or any number read.");
create_exception!(springflash, DamagedError, FlashError, "Its files are not those that were written.");
create_exception!(springflash, ReadOnlyError, FlashError, "It is open for reading.");
create_exception!(springflash, ClosedError, FlashError, "It was closed.");
create_exception!(
    springflash,
    ForkedError,
    FlashError,
    "It was opened before this process was forked; open it again here."
);

/// What can go wrong with the structure in a folder.
#[derive(Debug)]
pub(crate) enum Fault {
    Flash(Error),
    Closed,
    Forked,
    /// A call on it waits for the code that makes this one.
    Waiting,
    /// What Python code raised meanwhile.
    Raised(PyErr),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Flash(error)
    }
}

impl Fault {
    /// The exception for the structure in `folder`.
    pub(crate) fn raised(self, py: Python<'_>, folder: &Path) -> PyErr {
        match self {
            Fault::Flash(error) => raised(py, folder, &error),
            Fault::Closed => with_path(py, folder, ClosedError::new_err, "it is closed".to_owned()),
            Fault::Forked => {
                let reason = "it was opened before this process was forked; open it again in this process";
                with_path(py, folder, ForkedError::new_err, reason.to_owned())
            }
            Fault::Waiting => {
                let reason = "a call on it waits for this code, a signal handler or a progress function; use it after that call";
                with_path(py, folder, FlashError::new_err, reason.to_owned())
            }
            Fault::Raised(raised) => raised,
        }
    }
}

fn raised(py: Python<'_>, folder: &Path, error: &Error) -> PyErr {
    match error {
        Error::Io { action, name, source } => of_system(action, name, source),
        Error::NoLocks { source, .. } => {
            let number = source.raw_os_error().unwrap_or(5);
            PyOSError::new_err((number, error.to_string(), folder.as_os_str().to_owned()))
        }
        Error::NotFound { .. } => {
            PyFileNotFoundError::new_err((2, error.to_string(), folder.as_os_str().to_owned()))
        }
        // The folder of a copy is another one.
        Error::NotEmpty { name, .. } => PyFileExistsError::new_err((17, error.to_string(), name.to_owned())),
        Error::InvalidSetting { .. } | Error::RecordLength { .. } | Error::BudgetTooSmall { .. } => {
            PyValueError::new_err(error.to_string())
        }
        Error::NoMemory { .. } => PyMemoryError::new_err(error.to_string()),
        Error::Full { inserted, .. } | Error::NoSpace { inserted, .. } => full(py, folder, error, *inserted),
        Error::RateTooHigh { .. } => full(py, folder, error, 0),
        Error::InUse { .. } => with_path(py, folder, InUseError::new_err, error.to_string()),
        Error::ReadOnly { .. } => with_path(py, folder, ReadOnlyError::new_err, error.to_string()),
        Error::Damaged { .. }
        | Error::TornCopy { .. }
        | Error::Truncated { .. }
        | Error::Foreign { .. }
        | Error::Incomplete { .. } => with_path(py, folder, DamagedError::new_err, error.to_string()),
        _ => with_path(py, folder, FlashError::new_err, error.to_string()),
    }
}

fn full(py: Python<'_>, folder: &Path, error: &Error, added: usize) -> PyErr {
    let raised = with_path(py, folder, FullError::new_err, error.to_string());
    set(py, &raised, "added", added);
    raised
}

/// An `OSError` or the class below it that the number of the error has, with the file and what was tried.
fn of_system(action: &str, name: &str, source: &std::io::Error) -> PyErr {
    let reason = format!("cannot {action}: {source}");
    if source.kind() == std::io::ErrorKind::InvalidInput && source.raw_os_error().is_none() {
        return PyValueError::new_err(format!("{reason}: {name}"));
    }
    // The standard library has a number for kinds that no system call has returned.
    let number = source.raw_os_error().unwrap_or(match source.kind() {
        std::io::ErrorKind::NotADirectory => 20,
        _ => 5,
    });
    PyOSError::new_err((number, reason, name.to_owned()))
}

fn with_path(py: Python<'_>, folder: &Path, raise: fn(String) -> PyErr, reason: String) -> PyErr {
    let path = folder.display().to_string();
    let text = if reason.contains(&path) { reason.clone() } else { format!("{path}: {reason}") };
    let raised = raise(text);
    // As Python writes names that are no UTF-8, so that it names the folder.
    set(py, &raised, "path", folder.as_os_str());
    set(py, &raised, "reason", reason);
    raised
}

fn set<'py, T: IntoPyObject<'py>>(py: Python<'py>, raised: &PyErr, name: &str, value: T) {
    // An exception without an attribute is better than another exception.
    let _ = raised.value(py).setattr(name, value);
}
