//! Creation, opening and closing of filters. Recovery applies the log of an interrupted writer to the pages.

use std::path::Path;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use springbloom_page_device::{
    Access, FileStorage, FlashError, GroupCommit, SET_KIND, Storage, Wal, Watch, or_incomplete, require_empty,
};

use crate::capacity::require_space_for;
use crate::filter::{FlashFilter, State};
use crate::header::{FILTER_VERSION, FilterHeader};
use crate::layer::{Layer, file_name};
use crate::memory::MemoryPlan;
use crate::page_cache::PageCache;
use crate::settings::{BufferSettings, FilterSettings};
use crate::state::{Chain, snapshot_updates_max, updates_of};
use crate::stats::{Costs, Counters};
use crate::writer::Writer;

/// Name of the log in the first format, which marks its folders.
const FIRST_FORMAT_LOG: &str = "log-a";

impl FlashFilter {
    /// Creates a filter in `directory` and opens it. The directory must be empty or absent. Writes every page once. A failed creation
    /// leaves no files behind.
    pub fn create(
        directory: &Path,
        settings: &FilterSettings,
        buffer: BufferSettings,
    ) -> Result<FlashFilter, FlashError> {
        // Checked before a folder is created.
        check(settings, &buffer)?;
        FileStorage::make(directory, |storage| FlashFilter::create_in(storage, settings, buffer))
    }

    /// Opens the filter in `directory` and recovers acknowledged keys. After [`FlashFilter::close`] there is nothing to recover: opening
    /// reads a few blocks, whatever the size of the filter, and writes nothing.
    pub fn open(directory: &Path, buffer: BufferSettings) -> Result<FlashFilter, FlashError> {
        FlashFilter::open_in(FileStorage::shared(directory, Access::Write)?, buffer)
    }

    /// Opens the filter in `directory` for lookups, with any number of other readers. Writes nothing, and works on a read-only file
    /// system. If the last writer was interrupted, every batch of lookups also reads the log, until the filter is opened for writing once
    /// (see [`FlashFilter::is_recovered`]).
    pub fn open_read_only(directory: &Path, buffer: BufferSettings) -> Result<FlashFilter, FlashError> {
        FlashFilter::open_in(FileStorage::shared(directory, Access::Read)?, buffer)
    }

    /// [`FlashFilter::create`] in any storage.
    pub fn create_in(
        storage: Arc<dyn Storage>,
        settings: &FilterSettings,
        buffer: BufferSettings,
    ) -> Result<FlashFilter, FlashError> {
        FlashFilter::create_watched(storage, settings, buffer, &mut Watch::none())
    }

    /// The same with a watch, which is told the pages. What ends early leaves parts of the files, which [`FileStorage::make`] removes.
    pub fn create_watched(
        storage: Arc<dyn Storage>,
        settings: &FilterSettings,
        buffer: BufferSettings,
        watch: &mut Watch<'_>,
    ) -> Result<FlashFilter, FlashError> {
        let (header, memory) = check(settings, &buffer)?;
        require_empty(&*storage)?;
        require_space_for(&*storage, &header, &memory)?;
        let layer = Layer::create(&*storage, header, watch)?;
        let chain = Chain { insertions: 0, pending_updates: 0, is_stamped: true, layers: vec![(header, 0)] };
        let log_blocks = memory.log_blocks(&header.geometry);
        let wal = Wal::create(&*storage, header.salt, log_blocks, chain.encode(), watch)?;
        FlashFilter::assemble(storage, buffer, vec![Arc::new(layer)], wal, memory, 0)
    }

    /// What a new filter takes.
    ///
    /// # Errors
    /// Those of [`FlashFilter::create`] for these settings.
    pub fn costs(settings: &FilterSettings, buffer: BufferSettings) -> Result<Costs, FlashError> {
        let (header, memory) = check(settings, &buffer)?;
        let geometry = &header.geometry;
        Ok(Costs {
            filter_bytes: header.file_bytes(),
            log_bytes: memory.log_bytes(geometry),
            written_bytes: memory.written_bytes(geometry, buffer.group_pages, header.capacity_keys),
        })
    }

    /// [`FlashFilter::open`] in any storage. Opens for lookups only if the storage is not writable.
    pub fn open_in(storage: Arc<dyn Storage>, buffer: BufferSettings) -> Result<FlashFilter, FlashError> {
        FlashFilter::open_watched(storage, buffer, &mut Watch::none())
    }

    /// The same with a watch, which is told the bytes of the log that an interrupted writer left, out of the most that it can have. What
    /// ends early changes nothing: the next opening recovers the same.
    pub fn open_watched(
        storage: Arc<dyn Storage>,
        buffer: BufferSettings,
        watch: &mut Watch<'_>,
    ) -> Result<FlashFilter, FlashError> {
        buffer.check()?;
        let mut wal = open_log(&*storage).map_err(or_incomplete(&*storage))?;
        let chain = Chain::decode(&wal)?;
        let layers = chain.layers.iter();
        let layers: Vec<Arc<Layer>> = layers
            .map(|(header, ones)| Layer::open(&*storage, *header, *ones).map(Arc::new))
            .collect::<Result<_, _>>()
            .map_err(or_incomplete(&*storage))?;
        let mut is_stamped = chain.is_stamped;
        for layer in &layers {
            let stamp = if chain.is_stamped { layer.stamped(wal.generation())? } else { None };
            is_stamped &= stamp.is_some();
            // A stamp that a writer wrote before it was interrupted is used up: the pages are yet to be written for that generation.
            wal.begin_after(stamp.unwrap_or_default());
            if storage.is_writable() {
                layer.mend_header(stamp.unwrap_or(wal.generation()))?;
            } else {
                layer.has_sound_header()?;
            }
        }
        let memory = MemoryPlan::new(&layers[layers.len() - 1].header.geometry, &buffer)?;
        let is_writable = storage.is_writable();
        let mut filter = FlashFilter::assemble(storage, buffer, layers, wal, memory, chain.insertions)?;
        if is_writable {
            filter.recover(&chain, memory, is_stamped, watch)?;
        } else {
            let mut wal = filter.wal.lock();
            watch.expect(wal.payload_bytes_max());
            let mut logged = 0;
            wal.replay(&mut |commit| {
                logged += updates_of(commit).count() as u64;
                watch.advance(commit.len() as u64)
            })?;
            let reads_log = !wal.is_empty();
            drop(wal);
            filter.reads_log = reads_log;
            // The bits of the pages were counted before this log began.
            filter.state().pending.count_logged(logged);
            filter.writer.get_mut().recovered(logged.saturating_sub(chain.pending_updates));
        }
        Ok(filter)
    }

    fn assemble(
        storage: Arc<dyn Storage>,
        buffer: BufferSettings,
        layers: Vec<Arc<Layer>>,
        wal: Wal,
        memory: MemoryPlan,
        insertions: u64,
    ) -> Result<FlashFilter, FlashError> {
        // Reserved for the whole plan, since the log may grow with it.
        let pending = memory.pending(buffer.group_pages)?;
        let memory = memory.limited_to(snapshot_updates_max(&wal));
        let writer = Writer::new(memory, buffer.policy, pending.groups(), insertions);
        Ok(FlashFilter {
            storage,
            buffer,
            state: RwLock::new(Arc::new(State { layers, pending })),
            wal: Mutex::new(wal),
            writer: Mutex::new(writer),
            telling: Mutex::new(()),
            group_commit: GroupCommit::default(),
            cache: PageCache::new(memory.cache_pages),
            lookup_keys: memory.lookup_keys,
            counters: Counters::default(),
            reads_log: false,
        })
    }

    /// Whether lookups need not read the log, because the last writer closed the filter. Always true if the filter is open for writing.
    pub fn is_recovered(&self) -> bool {
        !self.reads_log
    }

    /// Flushes all pending updates, so that the next opening recovers nothing. Writes nothing if nothing was inserted since the last close.
    /// Cost: see [`FlashFilter::flush`].
    ///
    /// Committed keys are durable without this call. If a filter is dropped instead, the next opening for writing recovers it.
    pub fn close(self) -> Result<(), FlashError> {
        self.close_watched(&mut Watch::none())
    }

    /// The same with a watch, which is told the updates that are flushed. If it ends early, all keys are durable in the log, and the next
    /// opening for writing goes on.
    pub fn close_watched(self, watch: &mut Watch<'_>) -> Result<(), FlashError> {
        if !self.storage.is_writable() {
            return Ok(());
        }
        let is_clean = self.wal.lock().is_empty() && !self.sound_writer()?.has_changed;
        if is_clean {
            return Ok(());
        }
        match self.flush_watched(watch) {
            Err(stopped @ FlashError::Stopped) => self.commit().and(Err(stopped)),
            flushed => flushed,
        }
    }

    /// Replays the updates of the log and flushes them when memory is full. A checkpoint follows, so that the next opening need not replay
    /// again. The log grows if it was created for less memory than `plan` has. Files that lack a stamp get it (`is_stamped` says whether
    /// all have one).
    fn recover(
        &self,
        chain: &Chain,
        plan: MemoryPlan,
        is_stamped: bool,
        watch: &mut Watch<'_>,
    ) -> Result<(), FlashError> {
        let mut wal = self.wal.lock();
        let state = self.state();
        let geometry = state.newest().header.geometry;
        let (mut updates, mut held): (u64, u64) = (0, 0);
        let name = wal.name().to_owned();
        watch.expect(wal.payload_bytes_max());
        let report = {
            let mut writer = self.sound_writer()?;
            wal.replay(&mut |commit| {
                if updates == 0 {
                    // Pages may have been flushed since their set bits were counted, with keys that were never acknowledged.
                    state.newest().estimate_fill()?;
                    held = state.newest().surely_held_keys(0) as u64;
                }
                for update in updates_of(commit) {
                    if update.page >= geometry.page_count {
                        let got = format!("an update of page {}", update.page);
                        let expected = format!("pages below {}", geometry.page_count);
                        return Err(FlashError::damaged(&name, "the write-ahead log", got, expected));
                    }
                    self.put(&mut writer, &state, update)?;
                    updates += 1;
                }
                watch.advance(commit.len() as u64)
            })?
        };
        if updates > 0 {
            let since = updates.saturating_sub(chain.pending_updates);
            let mut writer = self.writer.lock();
            writer.recovered(since);
            let uncounted = held.saturating_sub(writer.insertions);
            writer.recovered(uncounted);
        }
        let is_small = wal.reserve(plan.log_blocks(&geometry));
        if is_small || wal.has_commits() || !report.is_sound() || !is_stamped {
            self.checkpoint(&mut wal, &mut *self.sound_writer()?)?;
            self.writer.lock().plan = plan.limited_to(snapshot_updates_max(&wal));
        }
        Ok(())
    }
}

/// The log of the filter in `storage`.
pub(crate) fn open_log(storage: &dyn Storage) -> Result<Wal, FlashError> {
    if !Wal::exists(storage) {
        let name = storage.describe("");
        if storage.open(FIRST_FORMAT_LOG).is_ok() {
            return Err(FlashError::OlderVersion { name, got: 1, expected: FILTER_VERSION });
        }
        if storage.open(&file_name(0)).is_err() {
            return Err(FlashError::NotFound { name, expected: "set" });
        }
    }
    let wal = Wal::open(storage)?;
    wal.require_kind(storage.describe(""), SET_KIND)?;
    Ok(wal)
}

/// The first filter of a new chain and its memory plan, if the settings are valid.
fn check(
    settings: &FilterSettings,
    buffer: &BufferSettings,
) -> Result<(FilterHeader, MemoryPlan), FlashError> {
    buffer.check()?;
    let header = settings.header(0, rand::random(), 0)?;
    let memory = MemoryPlan::new(&header.geometry, buffer)?;
    Ok((header, memory))
}
