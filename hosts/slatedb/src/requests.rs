//! Requests to an object store from threads that may block.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{RecvTimeoutError, sync_channel},
    },
    time::Duration,
};

use tokio::runtime::Handle;

/// How often one who waits looks whether nobody needs the answer any more.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Makes requests on the runtime of the database, whose connections may be bound to it.
#[derive(Clone)]
pub(crate) struct Requests {
    runtime: Handle,
    is_closed: Arc<AtomicBool>,
}

impl Requests {
    pub(crate) fn new(runtime: Handle, is_closed: Arc<AtomicBool>) -> Self {
        Self { runtime, is_closed }
    }

    /// Waits for an answer, outside of the runtime. `None` if the runtime or the filters end first.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        request: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (answer, answered) = sync_channel(1);
        let task = self.runtime.spawn(async move { answer.send(request.await).ok() });
        loop {
            match answered.recv_timeout(LOOK_EVERY) {
                Ok(answer) => return Some(answer),
                Err(RecvTimeoutError::Timeout) if !self.is_closed() => (),
                Err(_) => {
                    task.abort();
                    return None;
                }
            }
        }
    }

    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(task);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }
}
