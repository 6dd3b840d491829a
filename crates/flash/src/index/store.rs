//! The index as its callers see it: making, opening, putting, deleting, making durable. Lookups are in `lookup`, what moves entries from memory to
//! buckets in `sweep`.

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use springbloom_filter::KeyDigest;

use super::kept_filters;
use super::manifest::Manifest;
use super::partitions::{Bucket, Partitions};
use super::record::{INDEX_PAGE_BYTES, check_lengths};
use super::record_log::{RecordLog, ReplayFrom, lost_page, replay};
use super::settings::{IndexMemory, IndexSettings};
use super::stats::{Counters, IndexInfo, IndexStats};
use super::sweep::Writer;
use super::waiting;
use super::zones::Zones;
use crate::device::{FileStorage, IoEngine, PageDevice, SECTOR_BYTES, Span, Storage};
use crate::error::FlashError;

pub(super) const LOG_NAME: &str = "records";
const BUCKETS_NAME: &str = "buckets";

/// A durable map from short keys to values, on flash, with less than a byte of memory per key. See [`crate::index`].
///
/// One process opens an index at a time; within it, any number of threads may look up while others write.
pub struct FlashIndex {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) settings: IndexSettings,
    pub(super) memory: IndexMemory,
    pub(super) salt: u64,
    pub(super) log: RecordLog,
    pub(super) buckets: Arc<dyn PageDevice>,
    pub(super) table: RwLock<Partitions>,
    pub(super) writer: Mutex<Writer>,
    pub(super) counters: Counters,
}

impl FlashIndex {
    /// Makes an index in the files of `directory`, which must hold none, and opens it.
    pub fn create(
        directory: &Path,
        settings: IndexSettings,
        memory: IndexMemory,
    ) -> Result<FlashIndex, FlashError> {
        let storage = file_storage(directory, true)?;
        FlashIndex::create_in(storage, settings, memory, rand::random())
    }

    /// Opens the index in `directory`, replaying what was acknowledged since its last checkpoint.
    pub fn open(directory: &Path, memory: IndexMemory) -> Result<FlashIndex, FlashError> {
        FlashIndex::open_in(file_storage(directory, false)?, memory)
    }

    /// As [`create`](Self::create), in any storage. `salt` keys the checksums, so that pages of another index are noticed.
    pub fn create_in(
        storage: Arc<dyn Storage>,
        settings: IndexSettings,
        memory: IndexMemory,
        salt: u64,
    ) -> Result<FlashIndex, FlashError> {
        settings.check()?;
        if Manifest::exists(&*storage) {
            return Err(FlashError::AlreadyExists { name: storage.describe("") });
        }
        for file in [LOG_NAME, BUCKETS_NAME] {
            let name = storage.describe(file);
            let device = storage.create(file, 0).map_err(FlashError::io("create", &name))?;
            check_blocks(&*device, name)?;
        }
        let manifest = Manifest {
            sequence: 0,
            epoch: 0,
            salt,
            settings,
            replay_page: 0,
            counted_page: 0,
            closed: 0,
            counted_epoch: 0,
            births: 0,
            bucket_slots: 0,
            zone_slots: 0,
            free_zone_slots: Vec::new(),
            zones: Vec::new(),
            partitions: vec![(settings.first_depth(), None); 1 << settings.first_depth()],
        };
        manifest.write(&*storage)?;
        FlashIndex::open_in(storage, memory)
    }

    /// As [`open`](Self::open), in any storage.
    pub fn open_in(storage: Arc<dyn Storage>, memory: IndexMemory) -> Result<FlashIndex, FlashError> {
        memory.check()?;
        let manifest = Manifest::read(&*storage)?;
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
        let has_waiting = waiting::read(&*storage, &manifest, &mut partitions);
        if !has_waiting {
            partitions = empty()?;
        }
        if let Some([front, back]) = memory.prefilter {
            let units = [front.unit_count(), back.unit_count()];
            kept_filters::read(&*storage, &manifest, units, &mut partitions);
        }
        let zones = Zones::restored(&manifest);
        let counted_page = manifest.counted_page;
        let from_page = if has_waiting { counted_page } else { manifest.replay_page };
        let end = replay(
            &*log_device,
            &log_name,
            manifest.salt,
            zones,
            ReplayFrom { page: from_page, counted_page, counted_epoch: manifest.counted_epoch },
            &mut |digest, page, zones| {
                partitions.push(digest, page);
                if page >= counted_page {
                    zones.count_record(page);
                }
            },
        )?;
        if end.page < counted_page {
            return Err(lost_page(&log_name, end.page));
        }
        // A process that was killed may have left pages that were read now and are not durable.
        log_device.sync().map_err(FlashError::io("sync", &log_name))?;
        let epoch = manifest.epoch + 1;
        let log = RecordLog::new(log_device, log_name, manifest.salt, epoch, end.zones, end.page);
        let writer = Writer::restored(&manifest, epoch, &partitions, &log);
        let was_closed = writer.is_closed();
        let index = FlashIndex {
            storage,
            settings: manifest.settings,
            memory,
            salt: manifest.salt,
            log,
            buckets,
            writer: Mutex::new(writer),
            table: RwLock::new(partitions),
            counters: Counters::default(),
        };
        if !was_closed {
            index.rebuild_torn(&mut index.writer())?;
        }
        Ok(index)
    }

    pub(super) fn table(&self) -> RwLockReadGuard<'_, Partitions> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn table_mut(&self) -> RwLockWriteGuard<'_, Partitions> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that `key` has `value` now; durable after the next [`flush`](Self::flush). Lookups see it at once.
    ///
    /// Errors: a key of no or more than 255 bytes, a value of more than 65,536; a device that refuses. Cost: a copy, and its share of
    /// a sweep.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), FlashError> {
        self.put_many(&[(key, value)])
    }

    /// [`put`](Self::put) for each pair in order; refused as a whole if one of them is too long.
    pub fn put_many(&self, pairs: &[(&[u8], &[u8])]) -> Result<(), FlashError> {
        pairs.iter().try_for_each(|(key, value)| check_lengths(key, value))?;
        let mut writer = self.writer();
        for (key, value) in pairs {
            self.append(&mut writer, key, Some(value))?;
            self.counters.inserted_bytes.add((key.len() + value.len()) as u64);
        }
        self.counters.records_appended.add(pairs.len() as u64);
        Ok(())
    }

    /// Says that `key` is gone; durable after the next [`flush`](Self::flush). Whether it was there is not looked up.
    pub fn delete(&self, key: &[u8]) -> Result<(), FlashError> {
        check_lengths(key, &[])?;
        let mut writer = self.writer();
        let page = self.append(&mut writer, key, None)?;
        self.counters.records_appended.add(1);
        self.counters.inserted_bytes.add(key.len() as u64);
        self.log.zones_mut().count_stale(page);
        Ok(())
    }

    /// Appends a record and its entry, and does the sweeping that is due. Returns the record's page.
    pub(super) fn append(
        &self,
        writer: &mut Writer,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<u64, FlashError> {
        let digest = KeyDigest::of(key);
        self.announce(writer)?;
        let page = self.log.append(key, value)?;
        {
            let mut table = self.table_mut();
            table.push(digest, page);
            writer.pending_bytes = table.pending_bytes();
        }
        writer.pending_entries += 1;
        writer.records += 1;
        self.sweep_if_due(writer)?;
        Ok(page)
    }

    /// Returns when everything put and deleted before is durable. Concurrent callers share one sync; a flush writes the page that is being
    /// filled, so it costs up to a page of space.
    pub fn flush(&self) -> Result<(), FlashError> {
        let page = {
            let _writer = self.writer();
            self.log.write_out()?
        };
        self.log.sync_to(page)
    }

    /// Flushes, and writes a checkpoint, what waits and the pre-filters, so that the next opening has nothing to replay. An index that was closed, and
    /// in which nothing was changed since, needs no closing: it is as it was.
    pub fn close(self) -> Result<(), FlashError> {
        let mut writer = self.writer();
        if writer.is_closed() { Ok(()) } else { self.checkpoint(&mut writer, true) }
    }

    /// Counters since opening.
    pub fn stats(&self) -> IndexStats {
        let (log_bytes_written, log_syncs) = self.log.written();
        IndexStats { log_bytes_written, log_syncs, ..self.counters.snapshot() }
    }

    /// Sizes now.
    pub fn info(&self) -> IndexInfo {
        let pending_entries = self.writer().pending_entries;
        let table = self.table();
        let zones = self.log.zones();
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

    pub(super) fn bucket_bytes(&self) -> usize {
        usize::from(self.settings.bucket_sectors) * SECTOR_BYTES
    }

    /// Where these sectors of a bucket are.
    pub(super) fn span_of(&self, bucket: Bucket, sectors: Range<usize>) -> Span {
        let slot = u64::from(bucket.slot) * self.bucket_bytes() as u64;
        let offset = slot + (sectors.start * SECTOR_BYTES) as u64;
        Span { offset, len_bytes: sectors.len() * SECTOR_BYTES }
    }

    pub(super) fn front_sectors(&self) -> usize {
        usize::from(self.settings.front_sectors())
    }

    pub(super) fn damaged(&self, file: &str, part: &'static str, got: String) -> FlashError {
        let expected = "what was written".to_owned();
        FlashError::Damaged { name: self.storage.describe(file), part, got, expected }
    }

    pub(super) fn damaged_bucket(&self, slot: u32, sector: usize) -> FlashError {
        self.damaged(BUCKETS_NAME, "a bucket", format!("a wrong checksum in sector {sector} of slot {slot}"))
    }

    pub(super) fn damaged_page(&self, page: u64) -> FlashError {
        self.damaged(LOG_NAME, "the log", format!("a wrong checksum in page {page}"))
    }

    pub(super) fn unread_bucket(&self, error: std::io::Error) -> FlashError {
        FlashError::io("read", &self.storage.describe(BUCKETS_NAME))(error)
    }
}

pub(super) fn file_storage(directory: &Path, create: bool) -> Result<Arc<dyn Storage>, FlashError> {
    let name = directory.display().to_string();
    match FileStorage::open(directory, create, IoEngine::Auto) {
        Ok(storage) => Ok(Arc::new(storage)),
        Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => Err(FlashError::InUse { name }),
        Err(e) => Err(FlashError::io("open", &name)(e)),
    }
}

fn open_device(
    storage: &dyn Storage,
    file: &str,
    expected_bytes: u64,
) -> Result<Arc<dyn PageDevice>, FlashError> {
    let name = storage.describe(file);
    let device = storage.open(file).map_err(FlashError::io("open", &name))?;
    let got_bytes = device.len_bytes();
    if got_bytes < expected_bytes {
        return Err(FlashError::Truncated { name, got_bytes, expected_bytes });
    }
    check_blocks(&*device, name)?;
    Ok(device)
}

/// Buckets are written in sectors of 512 bytes, which a device with larger blocks does not take.
fn check_blocks(device: &dyn PageDevice, name: String) -> Result<(), FlashError> {
    let expected_bytes = device.blocks().logical_bytes;
    if SECTOR_BYTES.is_multiple_of(expected_bytes) {
        return Ok(());
    }
    Err(FlashError::PageSize { name, got_bytes: SECTOR_BYTES as u32, expected_bytes })
}
