//! Creation and opening of indexes. Opening reads the last checkpoint and replays what was acknowledged since.

use std::path::Path;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use springbloom_page_device::{
    Access, FileStorage, FlashError, GroupCommit, NamedDevice, SECTOR_BYTES, Storage, Wal, Watch, incomplete,
    or_incomplete, require_empty,
};

use crate::commits::{Acknowledged, Commits};
use crate::manifest::{self, INDEX_VERSION, Manifest};
use crate::partitions::Partitions;
use crate::pending_file;
use crate::prefilter_file;
use crate::record::INDEX_PAGE_BYTES;
use crate::record_log::{RecordLog, lost_page};
use crate::settings::{IndexMemory, IndexSettings};
use crate::stats::Counters;
use crate::store::{BUCKETS_NAME, FlashIndex, LOG_NAME};
use crate::writer::Writer;
use crate::zones::Zones;

/// Files that are made before the write-ahead log.
const FIRST_NAMES: [&str; 4] = [LOG_NAME, BUCKETS_NAME, manifest::NAMES[0], manifest::NAMES[1]];

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
            NamedDevice::create(&*storage, file, 0)?.require_blocks(SECTOR_BYTES)?;
        }
        let manifest = Manifest {
            version: INDEX_VERSION,
            sequence: 0,
            salt,
            settings,
            replay_page: 0,
            counted_page: 0,
            is_closing: false,
            has_sealed: false,
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

    /// The same with a watch, which is told the bytes that are read. What ends early changes nothing: the next opening reads the same.
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
        let zone_bytes = u64::from(manifest.settings.zone_pages) * INDEX_PAGE_BYTES as u64;
        let log_device = open_device(&*storage, LOG_NAME, u64::from(manifest.zone_slots) * zone_bytes)?;
        let bucket_bytes = usize::from(manifest.settings.bucket_sectors) * SECTOR_BYTES;
        let buckets =
            open_device(&*storage, BUCKETS_NAME, u64::from(manifest.bucket_slots) * bucket_bytes as u64)?;
        let empty = || {
            let built = Partitions::from_ordered(&manifest.partitions, manifest.settings.front_sectors());
            let (name, got) = (storage.describe("manifest"), "partitions that do not cover every key once");
            built.ok_or_else(|| FlashError::damaged(&name, "the directory", got, "partitions that do"))
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
        let log = open_log(log_device, &manifest, &acknowledged)?;
        let index = FlashIndex {
            settings: manifest.settings,
            memory,
            salt,
            log,
            commits,
            group_commit: GroupCommit::default(),
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
                FlashError::Damaged { .. } => lost_page(self.log.device.name(), first.max(page)),
                other => other,
            })?;
        }
        writer.count_entries(&self.table.read(), &self.log);
        Ok(())
    }
}

/// The write-ahead log of the index in `storage`.
pub(crate) fn open_commits(storage: &Arc<dyn Storage>) -> Result<Commits, FlashError> {
    // A manifest of an older version gives a more precise error.
    if !Wal::exists(&**storage) && Manifest::newest(&**storage)?.is_none() {
        return Err(if is_begun(&**storage) {
            incomplete(&**storage, "log")
        } else {
            FlashError::NotFound { name: storage.describe(""), expected: "index" }
        });
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
    device: NamedDevice,
    manifest: &Manifest,
    acknowledged: &Acknowledged,
) -> Result<RecordLog, FlashError> {
    let end = &acknowledged.end;
    if end.page < manifest.counted_page {
        return Err(lost_page(device.name(), end.page));
    }
    let zones = Zones::restored_to(manifest, end.page_behind());
    // The manifest does not know of zones that were opened after it. The last page may be in the write-ahead log alone.
    let expected_bytes = zones.device_pages_before(end.page) * INDEX_PAGE_BYTES as u64;
    device.require_len(expected_bytes)?;
    Ok(RecordLog::new(device, manifest.salt, acknowledged.epoch + 1, zones, end))
}

fn open_device(storage: &dyn Storage, file: &str, expected_bytes: u64) -> Result<NamedDevice, FlashError> {
    let device = NamedDevice::open(storage, file)?;
    device.require_len(expected_bytes)?;
    device.require_blocks(SECTOR_BYTES)?;
    Ok(device)
}
