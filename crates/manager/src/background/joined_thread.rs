//! A thread that ends with its owner.

use std::io;
use std::mem;
use std::process;
use std::thread::{Builder, JoinHandle, Thread};

use parking_lot::Mutex;

/// A thread that is joined when this is dropped, by the owner, which told it to end.
#[derive(Debug)]
pub struct JoinedThread {
    thread: Thread,
    handle: Mutex<Option<JoinHandle<()>>>,
    /// A child of `fork` has the handle and not the thread: to join it there would touch memory that is freed.
    process: u32,
}

impl JoinedThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the system has no thread to give.
    pub fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let handle = Builder::new().name(name.into()).spawn(run)?;
        Ok(Self { thread: handle.thread().clone(), handle: Mutex::new(Some(handle)), process: process::id() })
    }

    /// Whether this process has the thread. If not, nothing that the thread waits for may be touched: parts of it lay on its stack.
    pub fn is_here(&self) -> bool {
        self.process == process::id()
    }

    /// Whether it has ended, or is another process's.
    pub fn has_ended(&self) -> bool {
        !self.is_here() || self.handle.lock().as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// To wake it.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Waits for its end. Somebody told it to end.
    pub fn join(&self) {
        let Some(handle) = self.handle.lock().take() else { return };
        if self.is_here() {
            let _ = handle.join(); // its panics are contained and logged
        } else {
            mem::forget(handle);
        }
    }
}

impl Drop for JoinedThread {
    fn drop(&mut self) {
        self.join();
    }
}
