//! What a long call does for Python while it runs: it handles signals, so that Ctrl-C ends it, and tells how far it has come.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use springbloom_flash_filter::{FlashError, Watch};

use crate::error::Fault;
use crate::keys::wrong_type;

/// Between two times, the first of which is at the first step. The interpreter is asked for no more often.
pub(crate) const PAUSE: Duration = Duration::from_millis(100);

/// Receives the units done and their total.
pub(crate) struct Receiver(Py<PyAny>);

pub(crate) type Progress = Option<Receiver>;

impl<'a, 'py> FromPyObject<'a, 'py> for Receiver {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Receiver> {
        if object.is_callable() {
            return Ok(Receiver(object.to_owned().unbind()));
        }
        Err(wrong_type(&object, "progress", "a function of two numbers, or None"))
    }
}

thread_local! {
    /// Addresses of the handles whose calls wait for Python code of this thread, with their locks.
    static WAITING: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Whether a call on the handle at this address waits for the code that makes another one.
pub(crate) fn is_waiting(handle: usize) -> bool {
    WAITING.with_borrow(|waiting| waiting.contains(&handle))
}

/// Calls `work` without the interpreter, with a watch that ends it when a signal handler or `progress` raises. `handles` are those that it
/// uses.
pub(crate) fn attended<R: Send>(
    py: Python<'_>,
    progress: &Progress,
    handles: &[usize],
    work: impl FnOnce(&mut Watch<'_>) -> Result<R, Fault> + Send,
) -> Result<R, Fault> {
    let (mut raised, mut all) = (None, 0);
    let done = py.detach(|| {
        let mut attended_at: Option<Instant> = None;
        work(&mut Watch::new(|done, total| {
            all = total;
            if attended_at.is_some_and(|at| at.elapsed() < PAUSE) {
                return ControlFlow::Continue(());
            }
            // `None` while the interpreter ends, which no signal can hasten.
            let attention = Python::try_attach(|py| {
                WAITING.with_borrow_mut(|waiting| waiting.extend(handles));
                let attention = py.check_signals().and_then(|()| told(py, progress, done, total));
                WAITING.with_borrow_mut(|waiting| waiting.truncate(waiting.len() - handles.len()));
                attention
            });
            attended_at = Some(Instant::now());
            raised = attention.and_then(Result::err);
            if raised.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }))
    });
    match (done, raised) {
        (Err(Fault::Flash(FlashError::Stopped)) | Ok(_), Some(raised)) => Err(Fault::Raised(raised)),
        (Ok(done), None) => told(py, progress, all, all).map(|()| done).map_err(Fault::Raised),
        (done, _) => done,
    }
}

fn told(py: Python<'_>, progress: &Progress, done: u64, total: u64) -> PyResult<()> {
    match progress {
        Some(Receiver(progress)) if total > 0 => progress.call1(py, (done, total)).map(drop),
        _ => Ok(()),
    }
}
