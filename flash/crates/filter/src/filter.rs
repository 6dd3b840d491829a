//! The flash filter: a Bloom filter in pages on a device. Updates are pending in memory, and a log makes them durable before their pages
//! are written (BloomFlash section III).
//!
//! - A lookup checks the pending updates and then reads one page (of each filter of a chain that has grown).
//! - Any number of threads look up keys while others insert. Insertions are serialised. Lock order: telling, log, writer, pending
//!   updates.
//! - Pages are written in place. A new page holds a superset of the bits of the old one (see [`crate::page`]).

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use springbloom_page_device::{GroupCommit, Storage, Wal};

use crate::header::FilterHeader;
use crate::layer::Layer;
use crate::page_cache::PageCache;
use crate::pending::Pending;
use crate::settings::BufferSettings;
use crate::stats::{Counters, FilterInfo, FilterStats};
use crate::writer::Writer;

/// A Bloom filter larger than memory.
///
/// Lookups answer "no" only for keys that were never inserted: what is damaged or cannot be read answers "may match" and is
/// counted. Any number of threads look up while others insert; insertions take turns.
///
/// ```
/// use springbloom_filter::KeyDigest;
/// use springbloom_flash_filter::{BufferSettings, FilterSettings, FlashFilter};
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let memory = BufferSettings::with_memory_bytes(1 << 20);
/// let filter = FlashFilter::create(folder, &FilterSettings::new(100_000, 0.01), memory)?;
/// filter.insert(KeyDigest::of(b"https://example.org/"))?;
/// filter.commit()?; // durable from here
/// filter.close()?; // the next opening has nothing to recover
///
/// let filter = FlashFilter::open_read_only(folder, memory)?;
/// let asked = [KeyDigest::of(b"https://example.org/"), KeyDigest::of(b"https://example.com/")];
/// assert_eq!(filter.contains_many(&asked), [true, false]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FlashFilter {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) buffer: BufferSettings,
    /// The state that lookups use. Replaced as a whole when the chain grows.
    pub(crate) state: RwLock<Arc<State>>,
    pub(crate) wal: Mutex<Wal>,
    pub(crate) writer: Mutex<Writer>,
    /// Held by the insertion that tells which keys are new, from its lookups on: no other one tells of the same keys meanwhile.
    pub(crate) telling: Mutex<()>,
    /// Of the updates counted by [`Writer`]'s `appended`.
    pub(crate) group_commit: GroupCommit,
    pub(crate) cache: PageCache,
    /// Keys of a batched lookup that are processed together. Bounds its memory.
    pub(crate) lookup_keys: usize,
    pub(crate) counters: Counters,
    /// Opened for reading after an interrupted writer, so lookups read the log as well.
    pub(crate) reads_log: bool,
}

/// The filters of the chain, and the pending updates of the last one.
pub(crate) struct State {
    pub(crate) layers: Vec<Arc<Layer>>,
    pub(crate) pending: Pending,
}

impl State {
    pub(crate) fn newest(&self) -> &Layer {
        // A state always has a layer.
        &self.layers[self.layers.len() - 1]
    }

    /// The header of the filter that the chain began with. Copies are numbered after it, and may come before it.
    pub(crate) fn first(&self) -> &FilterHeader {
        let first = self.layers.iter().find(|layer| layer.header.layer == 0);
        &first.unwrap_or(&self.layers[0]).header
    }
}

impl FlashFilter {
    pub(crate) fn state(&self) -> Arc<State> {
        self.state.read().clone()
    }

    /// Counters since opening.
    pub fn stats(&self) -> FilterStats {
        let written = self.wal.lock().written();
        self.counters.snapshot(written)
    }

    /// The present false positive rate of lookups, from the share of bits set. Too low if damaged sectors were saturated, as those count
    /// like bits spread evenly: [`verify`](Self::verify) tells the exact rate.
    pub fn estimated_fpr(&self) -> f64 {
        // In logarithms, because rates below 1e-16 would vanish.
        let absent_log: f64 =
            self.state().layers.iter().map(|layer| f64::ln_1p(-layer.estimated_fpr())).sum();
        -absent_log.exp_m1()
    }

    /// Settings and sizes of the filter.
    pub fn info(&self) -> FilterInfo {
        let state = self.state();
        let (insertions, fixed_bytes) = {
            let writer = self.writer.lock();
            (writer.insertions, writer.plan.fixed_bytes)
        };
        let newest = state.layers.len() - 1;
        let waiting = |i: usize| if i == newest { state.pending.len() } else { 0 };
        FilterInfo {
            layers: state.layers.iter().enumerate().map(|(i, layer)| layer.info(waiting(i))).collect(),
            insertions,
            pending_updates: state.pending.len(),
            memory_bytes: fixed_bytes + state.pending.bytes(),
            estimated_fpr: self.estimated_fpr(),
        }
    }
}
