//! What is asked of object stores for units, and what is being written there.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;
use tokio::sync::watch;

/// Requests to object stores that were made for units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requested {
    /// Reads.
    pub gets: u64,
    /// Bytes that were read.
    pub get_bytes: u64,
    /// Attempts to write.
    pub puts: u64,
    /// Bytes that were written.
    pub put_bytes: u64,
    /// Objects that were given up. Their tables have no filters.
    pub failed_puts: u64,
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

/// Objects that are being written.
#[derive(Default)]
pub(crate) struct Writes {
    /// So far.
    begun: u64,
    under_way: BTreeSet<u64>,
}

impl Writes {
    pub(crate) fn begun(&self) -> u64 {
        self.begun
    }

    /// Whether all have ended that had begun when this many had.
    pub(crate) fn have_ended(&self, begun: u64) -> bool {
        self.under_way.first().is_none_or(|&first| first >= begun)
    }
}

/// An object that is being written. Its runtime may end and drop it.
pub(crate) struct Writing {
    pub(crate) traffic: Arc<Traffic>,
    number: u64,
    is_written: bool,
}

impl Writing {
    pub(crate) fn begin(traffic: Arc<Traffic>) -> Self {
        let mut number = 0;
        traffic.writing.send_modify(|writes| {
            number = writes.begun;
            writes.begun += 1;
            writes.under_way.insert(number);
        });
        Self { traffic, number, is_written: false }
    }

    pub(crate) fn end(&mut self, bytes: usize) {
        self.traffic.requested.lock().put_bytes += bytes as u64;
        self.is_written = true;
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if !self.is_written {
            self.traffic.requested.lock().failed_puts += 1;
        }
        self.traffic.writing.send_modify(|writes| _ = writes.under_way.remove(&self.number));
    }
}
