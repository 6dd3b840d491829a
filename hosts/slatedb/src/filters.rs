//! What the policies and tables of one budget share.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use springbloom_manager::Manager;
use tokio::sync::watch;

use crate::unit_objects::{Counters, Writes};

pub(crate) struct Filters {
    is_closed: Arc<AtomicBool>,
    segment_keys: u32,
    counters: Arc<Counters>,
    writing: watch::Sender<Writes>,
    next_id: AtomicU64,
    manager: Arc<Manager>,
}

impl Filters {
    pub(crate) fn new(segment_keys: u32, manager: Arc<Manager>) -> Self {
        let (is_closed, counters, writing, next_id) = Default::default();
        Self { is_closed, segment_keys, counters, writing, next_id, manager }
    }

    pub(crate) fn is_closed(&self) -> &Arc<AtomicBool> {
        &self.is_closed
    }

    pub(crate) fn segment_keys(&self) -> u32 {
        self.segment_keys
    }

    pub(crate) fn counters_and_writing(&self) -> (Arc<Counters>, watch::Sender<Writes>) {
        (self.counters.clone(), self.writing.clone())
    }

    /// A number that nothing else has, for a database or a table.
    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Relaxed)
    }

    pub(crate) fn manager(&self) -> &Arc<Manager> {
        &self.manager
    }
}

impl Drop for Filters {
    fn drop(&mut self) {
        // The manager waits for its thread, which may wait for a request.
        self.is_closed.store(true, Relaxed);
    }
}
