//! A thread that does one thing after the other for the one that drives the simulation, and may hang in it.

use std::{
    fmt::Debug,
    panic::resume_unwind,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::{self, JoinHandle},
    time::Duration,
};

/// What an operation came to, or the error of RocksDB.
pub(crate) type Done = Result<(), String>;

/// What a thread does.
pub(crate) trait Work: Send + 'static {
    type Operation: Send + Clone + Debug + 'static;

    fn apply(&mut self, operation: &Self::Operation) -> Done;
}

pub(crate) struct Worker<W: Work> {
    operations: Sender<W::Operation>,
    done: Receiver<Done>,
    thread: Option<JoinHandle<W>>,
    /// What it is at.
    at: Option<W::Operation>,
}

impl<W: Work> Worker<W> {
    pub(crate) fn start(mut work: W) -> Self {
        let (operations, next) = channel();
        let (ends, done) = channel();
        let thread = thread::spawn(move || {
            // Until the worker is dropped.
            for operation in next {
                if ends.send(work.apply(&operation)).is_err() {
                    break;
                }
            }
            work
        });
        Self { operations, done, thread: Some(thread), at: None }
    }

    pub(crate) fn at(&self) -> Option<&W::Operation> {
        self.at.as_ref()
    }

    /// Begins an operation. The last one has ended.
    pub(crate) fn begin(&mut self, operation: W::Operation) {
        assert!(self.at.replace(operation.clone()).is_none());
        // Where the thread panicked, the end of the operation tells.
        _ = self.operations.send(operation);
    }

    /// Waits for the end of the operation that is under way. `None`: it lasts longer.
    pub(crate) fn end(&mut self, timeout: Duration) -> Option<(W::Operation, Done)> {
        match self.done.recv_timeout(timeout) {
            Ok(done) => Some((self.at.take()?, done)),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                let thread = self.thread.take().expect("it is joined once");
                resume_unwind(thread.join().err().expect("it panicked"));
            }
        }
    }

    /// Gives back what the thread had. It is at nothing.
    pub(crate) fn into_work(mut self) -> W {
        let thread = self.thread.take().expect("it is joined once");
        drop(self.operations);
        thread.join().expect("it is at nothing")
    }
}
