//! What the policies and tables of one budget share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use springbloom_manager::Manager;

use crate::traffic::Traffic;

pub(crate) struct Filters {
    pub(crate) traffic: Arc<Traffic>,
    pub(crate) segment_keys: u32,
    next_id: AtomicU64,
    pub(crate) manager: Arc<Manager>,
}

impl Filters {
    pub(crate) fn new(segment_keys: u32, manager: Arc<Manager>) -> Self {
        let (traffic, next_id) = Default::default();
        Self { traffic, segment_keys, next_id, manager }
    }

    /// A number that nothing else has, for a database or a table.
    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Relaxed)
    }
}

impl Drop for Filters {
    fn drop(&mut self) {
        // The manager waits for its thread, which may wait for a request.
        self.traffic.is_closed.store(true, Relaxed);
    }
}
