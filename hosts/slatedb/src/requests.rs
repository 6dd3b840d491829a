//! Requests to an object store from threads that may block.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use crate::traffic::Traffic;

/// How often one who waits looks whether nobody needs the answer any more.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A request that takes longer is given up: stores may have no limit of their own, and connections that were cut may never answer.
const LONGEST: Duration = Duration::from_secs(30);

/// Makes requests on the runtime of the database, whose connections may be bound to it.
#[derive(Clone)]
pub(crate) struct Requests {
    runtime: Handle,
    pub(crate) traffic: Arc<Traffic>,
}

impl Requests {
    pub(crate) fn new(runtime: Handle, traffic: Arc<Traffic>) -> Self {
        Self { runtime, traffic }
    }

    pub(crate) fn are_in(&self, runtime: &Handle) -> bool {
        self.runtime.id() == runtime.id()
    }

    /// Waits for an answer, outside of the runtime. `None` if it takes too long, or if the runtime or the filters end first.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        request: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        self.wait_until(Instant::now() + LONGEST, request)
    }

    fn wait_until<T: Send + 'static>(
        &self,
        end: Instant,
        request: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (answer, answered) = sync_channel(1);
        let task = self.runtime.spawn(async move { answer.send(request.await).ok() });
        loop {
            match answered.recv_timeout(LOOK_EVERY) {
                Ok(answer) => return Some(answer),
                Err(RecvTimeoutError::Timeout) if !self.is_closed() && Instant::now() < end => (),
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
        self.traffic.is_closed.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_without_an_answer_is_given_up() {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let requests = Requests::new(runtime.handle().clone(), Arc::default());
        assert_eq!(requests.wait(async { 1 }), Some(1));
        assert_eq!(requests.wait_until(Instant::now() + LOOK_EVERY, std::future::pending::<i32>()), None);
    }
}
