//! The public interface of the index: create, open, put, delete, commit, close. Lookups are in `lookup`. `flush` moves entries from memory
//! to buckets.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

use crate::commits::{Acknowledged, Commits};
use crate::manifest::{self, INDEX_VERSION, Manifest};
use crate::partitions::{Bucket, Partitions};
use crate::pending_file;
use crate::prefilter_file;
use crate::record::{INDEX_PAGE_BYTES, KeyName, check_lengths};
use crate::record_log::{RecordLog, lost_page};
use crate::settings::{IndexMemory, IndexSettings};
use crate::stats::{Counters, IndexInfo, IndexStats};
use crate::writer::Writer;
use crate::zones::Zones;
use springbloom_page_device::{
    Access, FileStorage, FlashError, GroupCommit, PageDevice, SECTOR_BYTES, Span, Storage, Wal, Watch,
    incomplete, or_incomplete, require_empty,
};

pub(crate) const LOG_NAME: &str = "records";
pub(crate) const BUCKETS_NAME: &str = "buckets";
/// Files that are made before the write-ahead log.
const FIRST_NAMES: [&str; 4] = [LOG_NAME, BUCKETS_NAME, manifest::NAMES[0], manifest::NAMES[1]];

/// A durable map from keys to values, on flash, with less than one byte of memory per key.
///
/// One process may write an index, or any number of processes may read it. Within a process, any number of threads may look up keys while
/// others write. Lock order: writer, partitions, zones, write-ahead log.
pub struct FlashIndex {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) settings: IndexSettings,
    pub(crate) memory: IndexMemory,
    pub(crate) salt: u64,
    pub(crate) log: RecordLog,
    pub(crate) commits: Commits,
    pub(crate) group_commit: GroupCommit,
    /// The first `durable` of the records counted by [`Writer`]'s `appended` are durable.
    pub(crate) durable: AtomicU64,
    pub(crate) buckets: Arc<dyn PageDevice>,
    pub(crate) table: RwLock<Partitions>,
    pub(crate) writer: Mutex<Writer>,
    pub(crate) counters: Counters,
}

impl FlashIndex {
    /// Creates an index in `directory` and opens it. The directory must be empty or absent. A failed creation leaves no files behind.
    pub fn create(
        directory: &Path,
        settings: IndexSettings,
        memory: IndexMemory,
    ) -> Result<FlashIndex, FlashError> {
        settings.check()?;
        memory.check()?;
        FileStorage::make(directory, |storage| {
            FlashIndex::create_in(storage, settings, memory, rand::random())
        })
    }

    /// Opens the index in `directory` and replays the records acknowledged since its last checkpoint.
    pub fn open(directory: &Path, memory: IndexMemory) -> Result<FlashIndex, FlashError> {
        FlashIndex::open_in(FileStorage::shared(directory, Access::Write)?, memory)
    }

    /// Opens the index in `directory` for lookups, with any number of other readers. Writes nothing, and works on a read-only file
    /// system. Records since the last checkpoint are replayed into memory.
    pub fn open_read_only(directory: &Path, memory: IndexMemory) -> Result<FlashIndex, FlashError> {
        FlashIndex::open_in(FileStorage::shared(directory, Access::Read)?, memory)
    }

    /// Like [`create`](Self::create), in any storage. `salt` keys the checksums, so that pages of another index are detected. It also keys
    /// the digests of keys, so that nobody can choose keys that fill one partition.
    pub fn create_in(
        storage: Arc<dyn Storage>,
        settings: IndexSettings,
        memory: IndexMemory,
        salt: u64,
    ) -> Result<FlashIndex, FlashError> {
        settings.check()?;
        require_empty(&*storage)?;
        for file in [LOG_NAME, BUCKETS_NAME] {
            let name = storage.describe(file);
            let device = storage.create(file, 0).map_err(FlashError::io("create", &name))?;
            check_blocks(&*device, name)?;
        }
        let manifest = Manifest {
            version: INDEX_VERSION,
            sequence: 0,
            salt,
            settings,
            replay_page: 0,
            counted_page: 0,
            is_closing: false,
            bucket_version: 0,
            bucket_slots: 0,
            zone_slots: 0,
            free_zone_slots: Vec::new(),
            zones: Vec::new(),
            partitions: vec![(settings.first_depth(), None); 1 << settings.first_depth()],
        };
        manifest.write(&*storage)?;
        Commits::create(&*storage, salt)?;
        FlashIndex::open_in(storage, memory)
    }

    /// Like [`open`](Self::open), in any storage. Opens for lookups only if the storage is not writable.
    pub fn open_in(storage: Arc<dyn Storage>, memory: IndexMemory) -> Result<FlashIndex, FlashError> {
        FlashIndex::open_watched(storage, memory, &mut Watch::none())
    }

    /// The same with a watch, which is told the bytes that are read. What ends early
    /// changes nothing: the next opening reads the same.
    pub fn open_watched(
        storage: Arc<dyn Storage>,
        memory: IndexMemory,
        watch: &mut Watch<'_>,
    ) -> Result<FlashIndex, FlashError> {
        FlashIndex::open_parts(storage.clone(), memory, watch).map_err(or_incomplete(&*storage))
    }

    fn open_parts(
        storage: Arc<dyn Storage>,
        memory: IndexMemory,
        watch: &mut Watch<'_>,
    ) -> Result<FlashIndex, FlashError> {
        memory.check()?;
        let commits = open_commits(&storage)?;
        let (salt, acknowledged) = (commits.salt(), commits.acknowledged());
        let manifest = Manifest::read(&*storage, salt, acknowledged.sequence)?;
        let log_name = storage.describe(LOG_NAME);
        let zone_bytes = u64::from(manifest.settings.zone_pages) * INDEX_PAGE_BYTES as u64;
        let log_device = open_device(&*storage, LOG_NAME, u64::from(manifest.zone_slots) * zone_bytes)?;
        let bucket_bytes = usize::from(manifest.settings.bucket_sectors) * SECTOR_BYTES;
        let buckets =
            open_device(&*storage, BUCKETS_NAME, u64::from(manifest.bucket_slots) * bucket_bytes as u64)?;
        let empty = || {
            Partitions::from_ordered(&manifest.partitions, manifest.settings.front_sectors()).ok_or_else(
                || FlashError::Damaged {
                    name: storage.describe("manifest"),
                    part: "the directory",
                    got: "partitions that do not cover every key once".to_owned(),
                    expected: "partitions that do".to_owned(),
                },
            )
        };
        let mut partitions = empty()?;
        let has_pending_file = pending_file::read(&*storage, &manifest, &mut partitions, watch)?;
        if !has_pending_file {
            partitions = empty()?;
        }
        if let Some([front, back]) = memory.prefilter {
            let units = [front.unit_count(), back.unit_count()];
            prefilter_file::read(&*storage, &manifest, units, &mut partitions, watch)?;
        }
        let replay_page = if has_pending_file { manifest.counted_page } else { manifest.replay_page };
        let log = open_log(log_device, log_name, &manifest, &acknowledged)?;
        let index = FlashIndex {
            settings: manifest.settings,
            memory,
            salt,
            log,
            commits,
            group_commit: GroupCommit::default(),
            durable: AtomicU64::new(0),
            buckets,
            writer: Mutex::new(Writer::restored(&manifest, &acknowledged)),
            table: RwLock::new(partitions),
            counters: Counters::default(),
            storage,
        };
        index.replay(replay_page, manifest.counted_page, watch)?;
        if index.storage.is_writable() && !acknowledged.is_closed {
            index.rebuild_torn(&mut index.writer.lock(), watch)?;
        }
        Ok(index)
    }

    /// Adds pending entries for all records from `page` on, and counts the records from `counted_page` on.
    fn replay(&self, page: u64, counted_page: u64, watch: &mut Watch<'_>) -> Result<(), FlashError> {
        let mut writer = self.writer.lock();
        let behind = self.log.page_behind();
        watch.expect(behind.saturating_sub(page) * INDEX_PAGE_BYTES as u64);
        for (first, end) in self.zone_pages().into_iter().filter(|(_, end)| *end > page) {
            let replayed = self.each_run(first.max(page), end.min(behind), &mut |pages| {
                let mut table = self.table.write();
                for page in pages {
                    for record in page.records() {
                        table.push(record.name.digest(self.salt), page.head.page);
                        if page.head.page >= counted_page {
                            self.log.zones.write().count_record(page.head.page);
                        }
                    }
                }
                watch.advance((pages.len() * INDEX_PAGE_BYTES) as u64)
            });
            replayed.map_err(|error| match error {
                FlashError::Damaged { .. } => lost_page(self.log.name(), first.max(page)),
                other => other,
            })?;
        }
        writer.count_entries(&self.table.read(), &self.log);
        Ok(())
    }

    pub(crate) fn name<'k>(&self, key: &'k [u8]) -> KeyName<'k> {
        KeyName::of(key, self.salt)
    }

    pub(crate) fn check_lengths(&self, key: &[u8], value: &[u8]) -> Result<(), FlashError> {
        check_lengths(key, value, self.settings.zone_pages)
    }

    /// Sets the value of `key`. Lookups see it at once. It is durable after the next [`commit`](Self::commit).
    ///
    /// Errors: the key is empty, key or value is longer than 65,536 bytes, or a device operation fails. Cost: a copy, and a share of a
    /// flush of pending entries. A key of more than 255 bytes takes 39 bytes more, and each operation computes its hash.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), FlashError> {
        self.put_many(&[(key, value)])
    }

    /// Calls [`put`](Self::put) for each pair in order. If one pair is too long, none is put.
    pub fn put_many(&self, pairs: &[(&[u8], &[u8])]) -> Result<(), FlashError> {
        pairs.iter().try_for_each(|(key, value)| self.check_lengths(key, value))?;
        let mut writer = self.writer.lock();
        pairs.iter().try_for_each(|(key, value)| self.put_with(&mut writer, key, value))
    }

    pub(crate) fn put_with(&self, writer: &mut Writer, key: &[u8], value: &[u8]) -> Result<(), FlashError> {
        self.append(writer, key, Some(value), &mut Watch::none())?;
        self.counters.inserted_bytes.add((key.len() + value.len()) as u64);
        self.counters.records_appended.add(1);
        Ok(())
    }

    /// Deletes `key`. The deletion is durable after the next [`commit`](Self::commit). Does not check whether the key exists.
    pub fn delete(&self, key: &[u8]) -> Result<(), FlashError> {
        self.check_lengths(key, &[])?;
        self.delete_with(&mut self.writer.lock(), key)
    }

    pub(crate) fn delete_with(&self, writer: &mut Writer, key: &[u8]) -> Result<(), FlashError> {
        let page = self.append(writer, key, None, &mut Watch::none())?;
        self.counters.records_appended.add(1);
        self.counters.inserted_bytes.add(key.len() as u64);
        self.log.zones.write().count_stale(page);
        Ok(())
    }

    /// Appends a record and its entry, then flushes pending entries if that is due, which `watch` may end early. Returns the record's page.
    pub(crate) fn append(
        &self,
        writer: &mut Writer,
        key: &[u8],
        value: Option<&[u8]>,
        watch: &mut Watch<'_>,
    ) -> Result<u64, FlashError> {
        let name = self.name(key);
        let digest = name.digest(self.salt);
        self.mark_open(writer)?;
        let page = self.log.append(&name, key, value)?;
        let is_new = {
            let mut table = self.table.write();
            let is_new = table.push(digest, page);
            writer.pending_bytes = table.pending_bytes();
            is_new
        };
        if is_new {
            writer.pending_entries += 1;
        } else {
            // The entry for this page exists already, so the page holds an older record of the key, which is stale now.
            self.log.zones.write().count_stale(page);
        }
        writer.appended += 1;
        writer.records += 1;
        self.flush_if_due(writer, watch)?;
        Ok(page)
    }

    /// Makes all earlier puts and deletes durable. Concurrent callers share one sync. Cost: one sync, a second one if a page was filled
    /// since the last commit, and up to two blocks of the write-ahead log, each written twice.
    pub fn commit(&self) -> Result<(), FlashError> {
        if !self.storage.is_writable() {
            return Err(FlashError::ReadOnly { name: self.storage.describe("") });
        }
        let target = self.writer.lock().appended;
        let is_durable = || self.durable.load(Ordering::Acquire) >= target;
        let Some(_guard) = self.group_commit.lead(is_durable) else { return Ok(()) };
        let (appended, end) = {
            let writer = self.writer.lock();
            (writer.appended, self.log.write_out()?)
        };
        self.log.sync_to(end.page)?;
        self.commits.commit(|next| next.end = end).inspect_err(|_| self.log.mark_failed())?;
        self.durable.fetch_max(appended, Ordering::AcqRel);
        Ok(())
    }

    /// Commits, and writes a checkpoint, the pending entries and the pre-filters, so that the next opening replays nothing. Does nothing if
    /// the index was closed before and has not changed since.
    pub fn close(self) -> Result<(), FlashError> {
        self.close_watched(&mut Watch::none())
    }

    /// The same with a watch, which is told the bytes of pending entries and pre-filters. If it ends early, everything is durable
    /// nevertheless, and the next opening replays what is pending.
    pub fn close_watched(self, watch: &mut Watch<'_>) -> Result<(), FlashError> {
        let mut writer = self.writer.lock();
        if !self.storage.is_writable() || self.commits.acknowledged().is_closed {
            return Ok(());
        }
        self.log.check_alive()?;
        self.mark_open(&mut writer)?;
        match self.write_closing_files(&writer, watch) {
            Err(stopped @ FlashError::Stopped) => {
                drop(writer);
                self.commit().and(Err(stopped))
            }
            written => written.and_then(|()| self.checkpoint(&mut writer, true)),
        }
    }

    /// Whether the index was closed cleanly and has not changed since. If so, opening replayed nothing.
    pub fn was_closed(&self) -> bool {
        self.commits.acknowledged().is_closed
    }

    /// Counters since opening.
    pub fn stats(&self) -> IndexStats {
        let (records, commits) = (self.log.written(), self.commits.written());
        let (log_bytes_written, log_syncs) = (records.0 + commits.0, records.1 + commits.1);
        IndexStats { log_bytes_written, log_syncs, ..self.counters.snapshot() }
    }

    /// Current sizes.
    pub fn info(&self) -> IndexInfo {
        let pending_entries = self.writer.lock().pending_entries;
        let table = self.table.read();
        let zones = self.log.zones.read();
        let records: u64 = zones.live.values().map(|zone| u64::from(zone.records)).sum();
        let stale: u64 = zones.live.values().map(|zone| u64::from(zone.stale)).sum();
        IndexInfo {
            live_records: records - stale,
            records,
            partitions: table.len() as u64,
            zones: zones.live.len() as u64,
            log_bytes: zones.live.len() as u64 * u64::from(zones.zone_pages) * INDEX_PAGE_BYTES as u64,
            bucket_bytes: self.buckets.len_bytes(),
            memory_bytes: table.memory_bytes() + self.log.memory_bytes(),
            prefilter_bytes: table.filter_bytes(),
            pending_entries,
        }
    }

    pub(crate) fn bucket_bytes(&self) -> usize {
        usize::from(self.settings.bucket_sectors) * SECTOR_BYTES
    }

    /// The place of `sectors` of a bucket on the device.
    pub(crate) fn span_of(&self, bucket: Bucket, sectors: Range<usize>) -> Span {
        let slot = u64::from(bucket.slot) * self.bucket_bytes() as u64;
        let offset = slot + (sectors.start * SECTOR_BYTES) as u64;
        Span { offset, len_bytes: sectors.len() * SECTOR_BYTES }
    }

    pub(crate) fn front_sectors(&self) -> usize {
        usize::from(self.settings.front_sectors())
    }

    pub(crate) fn damaged(&self, file: &str, part: &'static str, got: String) -> FlashError {
        let expected = "what was written".to_owned();
        FlashError::Damaged { name: self.storage.describe(file), part, got, expected }
    }

    /// Grows the log's device to the size of its zones. After a crash it may be shorter.
    pub(crate) fn grow_log(&self) -> Result<(), FlashError> {
        let len_bytes = {
            let zones = self.log.zones.read();
            u64::from(zones.slots) * u64::from(zones.zone_pages) * INDEX_PAGE_BYTES as u64
        };
        self.log.device().grow(len_bytes).map_err(FlashError::io("grow", self.log.name()))
    }

    pub(crate) fn damaged_bucket(&self, slot: u32, sector: usize) -> FlashError {
        self.damaged(BUCKETS_NAME, "a bucket", format!("a wrong checksum in sector {sector} of slot {slot}"))
    }

    pub(crate) fn damaged_page(&self, page: u64) -> FlashError {
        self.damaged(LOG_NAME, "the log", format!("a wrong checksum in page {page}"))
    }

    /// The error for a failed write to the buckets. Refuses further writes.
    pub(crate) fn buckets_failed(&self, action: &'static str, error: std::io::Error) -> FlashError {
        self.log.mark_failed();
        FlashError::io(action, &self.storage.describe(BUCKETS_NAME))(error)
    }

    pub(crate) fn unread_bucket(&self, error: std::io::Error) -> FlashError {
        FlashError::io("read", &self.storage.describe(BUCKETS_NAME))(error)
    }
}

/// The write-ahead log of the index in `storage`.
pub(crate) fn open_commits(storage: &Arc<dyn Storage>) -> Result<Commits, FlashError> {
    if !Wal::exists(&**storage) {
        // A manifest of an older version gives a more precise error.
        return match Manifest::newest(&**storage)? {
            Some(_) => Commits::open(storage),
            None if is_begun(&**storage) => Err(incomplete(&**storage, "log")),
            None => Err(FlashError::NotFound { name: storage.describe(""), expected: "index" }),
        };
    }
    Commits::open(storage)
}

/// Whether there are files that are made before the log of an index, and nothing else.
fn is_begun(storage: &dyn Storage) -> bool {
    let names = storage.names().unwrap_or_default();
    !names.is_empty() && names.iter().all(|name| FIRST_NAMES.contains(&name.as_str()))
}

/// Opens the record log up to its acknowledged end. Includes the zones opened after the manifest was written.
fn open_log(
    device: Arc<dyn PageDevice>,
    name: String,
    manifest: &Manifest,
    acknowledged: &Acknowledged,
) -> Result<RecordLog, FlashError> {
    let end = &acknowledged.end;
    if end.page < manifest.counted_page {
        return Err(lost_page(&name, end.page));
    }
    let zones = Zones::restored_to(manifest, end.page_behind());
    // The manifest does not know of zones that were opened after it. The last page may be in the write-ahead log alone.
    let expected_bytes = zones.device_pages_before(end.page) * INDEX_PAGE_BYTES as u64;
    require_bytes(&*device, &name, expected_bytes)?;
    Ok(RecordLog::new(device, name, manifest.salt, acknowledged.epoch + 1, zones, end))
}

fn open_device(
    storage: &dyn Storage,
    file: &str,
    expected_bytes: u64,
) -> Result<Arc<dyn PageDevice>, FlashError> {
    let name = storage.describe(file);
    let device = storage.open(file).map_err(FlashError::io("open", &name))?;
    require_bytes(&*device, &name, expected_bytes)?;
    check_blocks(&*device, name)?;
    Ok(device)
}

fn require_bytes(device: &dyn PageDevice, name: &str, expected_bytes: u64) -> Result<(), FlashError> {
    let (name, got_bytes) = (name.to_owned(), device.len_bytes());
    if got_bytes < expected_bytes {
        return Err(FlashError::Truncated { name, got_bytes, expected_bytes });
    }
    Ok(())
}

/// Refuses devices with blocks larger than 512 bytes, because buckets are written in sectors of that size.
fn check_blocks(device: &dyn PageDevice, name: String) -> Result<(), FlashError> {
    let expected_bytes = device.blocks().logical_bytes;
    if SECTOR_BYTES.is_multiple_of(expected_bytes) {
        return Ok(());
    }
    Err(FlashError::PageSize { name, got_bytes: SECTOR_BYTES as u32, expected_bytes })
}
