//! The flash filter: a Bloom filter in pages on a device, with updates that wait in memory and a log that makes them
//! durable before their pages are written (BloomFlash section III).
//!
//! - A lookup looks at the waiting updates and then at one page (of each filter of a chain that has grown).
//! - Any number of threads look up while others insert; insertions take turns. Locks are taken in the order journal,
//!   writer, waiting updates.
//! - Pages are written in place: a page holds a superset of what it held (see [`crate::page`]).

mod flush;
mod layer;
mod lookup;
mod memory;
mod merge;
mod page_cache;
mod turn;
mod verify;
mod write;

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::device::{FileStorage, IoEngine, Storage};
use crate::error::FlashError;
use crate::fpr::either_of;
use crate::geometry::Layout;
use crate::header::FilterHeader;
use crate::journal::Log;
use crate::journal::block::BlockKind;
use crate::pending::Pending;
use crate::settings::{BufferSettings, FilterSettings, LayerPlan};
use crate::stats::{Counters, FilterInfo, FilterStats, LayerInfo};
use layer::Layer;
use memory::MemoryPlan;
use page_cache::PageCache;
use turn::CommitTurn;
pub use verify::{LayerReport, VerifyReport};
use write::Writer;

/// A Bloom filter larger than memory.
///
/// Lookups answer "no" only for keys that were never inserted: what is damaged or cannot be read answers "may match" and is
/// counted. Any number of threads look up while others insert; insertions take turns.
///
/// ```
/// use springbloom_filter::KeyDigest;
/// use springbloom_flash::{BufferSettings, FilterSettings, FlashFilter};
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let memory = BufferSettings::with_memory_bytes(1 << 20);
/// let filter = FlashFilter::create(folder, &FilterSettings::new(100_000, 0.01), memory)?;
/// filter.insert(KeyDigest::of(b"https://example.org/"))?;
/// filter.commit()?; // durable from here
/// drop(filter);
///
/// let filter = FlashFilter::open(folder, memory)?;
/// let asked = [KeyDigest::of(b"https://example.org/"), KeyDigest::of(b"https://example.com/")];
/// assert_eq!(filter.contains_many(&asked), [true, false]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FlashFilter {
    storage: Arc<dyn Storage>,
    buffer: BufferSettings,
    /// What lookups see; replaced as a whole when the chain grows.
    state: RwLock<Arc<State>>,
    journal: Mutex<Log>,
    writer: Mutex<Writer>,
    commit_turn: CommitTurn,
    cache: PageCache,
    /// Keys of a batched lookup that are worked on together: bounds its memory.
    lookup_keys: usize,
    /// Updates up to this count (of [`Writer`]'s `appended`) are durable.
    durable: AtomicU64,
    counters: Counters,
}

/// The filters of the chain, oldest first, and the updates that wait for the last one.
pub(crate) struct State {
    layers: Vec<Arc<Layer>>,
    pending: Pending,
}

impl State {
    fn newest(&self) -> &Layer {
        // A state is never made without a layer.
        &self.layers[self.layers.len() - 1]
    }
}

impl FlashFilter {
    /// Makes a filter in `directory` (made if absent) and opens it. Writes every page once.
    pub fn create(
        directory: &Path,
        settings: &FilterSettings,
        buffer: BufferSettings,
    ) -> Result<FlashFilter, FlashError> {
        // Before a folder is made that nobody needs.
        check(settings, &buffer)?;
        let storage = open_directory(directory, true)?;
        FlashFilter::create_in(storage, settings, buffer)
    }

    /// Opens the filter in `directory` and recovers what was acknowledged. Reads the log and a sample of the pages.
    pub fn open(directory: &Path, buffer: BufferSettings) -> Result<FlashFilter, FlashError> {
        let storage = open_directory(directory, false)?;
        FlashFilter::open_in(storage, buffer)
    }

    /// [`FlashFilter::create`] in any storage.
    pub fn create_in(
        storage: Arc<dyn Storage>,
        settings: &FilterSettings,
        buffer: BufferSettings,
    ) -> Result<FlashFilter, FlashError> {
        let (plan, memory) = check(settings, &buffer)?;
        let name = storage.describe(&layer::file_name(0));
        if let Ok(device) = storage.open(&layer::file_name(0))
            && !FilterHeader::is_unwritten(&*device)
        {
            return Err(FlashError::AlreadyExists { name });
        }
        let layer = Layer::create(&*storage, settings.header(plan, rand::random(), 0), &mut |header| {
            Log::create(&*storage, header.salt, memory.log_bytes(&header.geometry))
        })?;
        let (layer, journal) = layer;
        Ok(FlashFilter::assemble(storage, buffer, vec![Arc::new(layer)], journal, memory, 0))
    }

    /// [`FlashFilter::open`] in any storage.
    pub fn open_in(storage: Arc<dyn Storage>, buffer: BufferSettings) -> Result<FlashFilter, FlashError> {
        buffer.check()?;
        let first = Layer::open(&*storage, 0)?;
        let salt = first.header.salt;
        let mut layers = vec![Arc::new(first)];
        let mut waiting = Vec::new();
        let (mut insertions, mut logged) = (0, 0);
        let journal = Log::open(
            &*storage,
            salt,
            &mut |kind, update| {
                waiting.push(update);
                logged += u64::from(kind == BlockKind::Updates);
            },
            &mut |start| {
                insertions = start.insertions;
                for number in 1..start.layer_count {
                    layers.push(Arc::new(Layer::open(&*storage, number)?));
                }
                Ok(())
            },
        )?;
        for layer in &layers {
            layer.estimate_fill()?;
        }
        let newest = &layers[layers.len() - 1];
        if let Some(wrong) = waiting.iter().find(|u| u.page >= newest.header.geometry.page_count) {
            return Err(FlashError::Damaged {
                name: journal.name().to_owned(),
                part: "the log",
                got: format!("an update of page {}", wrong.page),
                expected: format!("pages below {}", newest.header.geometry.page_count),
            });
        }
        insertions += logged / newest.header.geometry.updates_per_key();
        let memory = MemoryPlan::new(&newest.header.geometry, &buffer)?;
        let mut filter = FlashFilter::assemble(storage, buffer, layers, journal, memory, insertions);
        filter.replay(&waiting)?;
        filter.fit_log(memory)?;
        Ok(filter)
    }

    fn assemble(
        storage: Arc<dyn Storage>,
        buffer: BufferSettings,
        layers: Vec<Arc<Layer>>,
        journal: Log,
        memory: MemoryPlan,
        insertions: u64,
    ) -> FlashFilter {
        let geometry = layers[layers.len() - 1].header.geometry;
        // Reserved for the whole plan: the log may grow with it.
        let pending = memory.pending(buffer.group_pages);
        let memory = memory.limited_to(journal.snapshot_updates_max());
        let loads = (geometry.layout == Layout::TwoChoices).then(|| layers[layers.len() - 1].loads());
        let writer = Writer::new(memory, buffer.policy, pending.groups(), loads, insertions);
        FlashFilter {
            storage,
            buffer,
            state: RwLock::new(Arc::new(State { layers, pending })),
            journal: Mutex::new(journal),
            writer: Mutex::new(writer),
            commit_turn: CommitTurn::default(),
            cache: PageCache::new(memory.cache_pages),
            lookup_keys: memory.lookup_keys,
            durable: AtomicU64::new(0),
            counters: Counters::default(),
        }
    }

    fn state(&self) -> Arc<State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn journal(&self) -> MutexGuard<'_, Log> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counters since opening.
    pub fn stats(&self) -> FilterStats {
        let (log_bytes_written, log_syncs) = self.journal().written();
        self.counters.snapshot(log_bytes_written, log_syncs)
    }

    /// The chance that a lookup of an absent key answers "may match" now, from the share of bits set.
    pub fn estimated_fpr(&self) -> f64 {
        // In logarithms, or rates below 1e-16 would vanish.
        let absent_log: f64 =
            self.state().layers.iter().map(|layer| f64::ln_1p(-layer.estimated_fpr())).sum();
        -absent_log.exp_m1()
    }

    /// Whether the filter holds as many distinct keys as it was built for, so that its rate is about to exceed the one
    /// asked for. A growing filter never is.
    pub fn is_full(&self) -> bool {
        let state = self.state();
        !state.newest().header.grows && state.newest().is_full(state.pending.len())
    }

    /// What the filter is and how full.
    pub fn info(&self) -> FilterInfo {
        let state = self.state();
        let (insertions, fixed_bytes) = {
            let writer = self.writer();
            (writer.insertions(), writer.fixed_bytes())
        };
        FilterInfo {
            layers: infos_of(&state),
            insertions,
            pending_updates: state.pending.len(),
            memory_bytes: fixed_bytes + state.pending.bytes(),
            estimated_fpr: self.estimated_fpr(),
        }
    }

    fn mark_durable(&self, appended: u64) {
        self.durable.fetch_max(appended, Ordering::AcqRel);
    }
}

/// The first filter of a chain and the memory it is opened with, if both can be had.
fn check(settings: &FilterSettings, buffer: &BufferSettings) -> Result<(LayerPlan, MemoryPlan), FlashError> {
    buffer.check()?;
    let plan = settings.plan(0)?;
    let memory = MemoryPlan::new(&plan.geometry, buffer)?;
    Ok((plan, memory))
}

/// Rate of one lookup that reads `pages` pages, each of which answers wrongly with chance `page_fpr`.
fn lookup_fpr(page_fpr: f64, layout: Layout) -> f64 {
    if layout == Layout::TwoChoices { either_of(page_fpr, 2) } else { page_fpr }
}

/// What waits is counted with the filter that it waits for.
fn infos_of(state: &State) -> Vec<LayerInfo> {
    let newest = state.layers.len() - 1;
    let waiting = |i: usize| if i == newest { state.pending.len() } else { 0 };
    state.layers.iter().enumerate().map(|(i, layer)| layer.info(waiting(i))).collect()
}

fn open_directory(directory: &Path, create: bool) -> Result<Arc<dyn Storage>, FlashError> {
    let name = directory.display().to_string();
    match FileStorage::open(directory, create, IoEngine::Auto) {
        Ok(storage) => Ok(Arc::new(storage)),
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Err(FlashError::InUse { name }),
        Err(source) => Err(FlashError::Io { action: "open", name, source }),
    }
}
