//! What the policies and tables of one budget share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use springbloom_manager::Manager;
use tokio::sync::watch;

use crate::{database::Database, elastic_filters::Requested, unit_objects::Writes};

pub(crate) struct Filters {
    pub(crate) traffic: Arc<Traffic>,
    pub(crate) segment_keys: u32,
    /// Those that have a policy or a filter.
    pub(crate) databases: Mutex<Vec<Weak<Database>>>,
    next_id: AtomicU64,
    pub(crate) manager: Arc<Manager>,
}

/// Requests for units. Apart from the manager, which has those who make them.
#[derive(Default)]
pub(crate) struct Traffic {
    /// Nobody needs an answer any more.
    pub(crate) is_closed: AtomicBool,
    /// So far.
    pub(crate) requested: Mutex<Requested>,
    pub(crate) writing: watch::Sender<Writes>,
}

impl Filters {
    pub(crate) fn new(segment_keys: u32, manager: Arc<Manager>) -> Self {
        let (traffic, databases, next_id) = Default::default();
        Self { traffic, segment_keys, databases, next_id, manager }
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
