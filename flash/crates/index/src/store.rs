//! An open index: put, delete, commit, close.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use springbloom_page_device::{
    FlashError, GroupCommit, NamedDevice, PageDevice, SECTOR_BYTES, Span, Storage, Watch, require_writable,
};

use crate::commits::Commits;
use crate::partitions::{Bucket, Partitions};
use crate::record::{INDEX_PAGE_BYTES, KeyName, check_lengths};
use crate::record_log::RecordLog;
use crate::settings::{IndexMemory, IndexSettings};
use crate::stats::{Counters, IndexInfo, IndexStats};
use crate::writer::Writer;

pub(crate) const LOG_NAME: &str = "records";
pub(crate) const BUCKETS_NAME: &str = "buckets";
/// What is expected in place of a wrong checksum.
const WRITTEN: &str = "what was written";

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
    /// Of the records counted by [`Writer`]'s `appended`.
    pub(crate) group_commit: GroupCommit,
    pub(crate) buckets: NamedDevice,
    pub(crate) table: RwLock<Partitions>,
    pub(crate) writer: Mutex<Writer>,
    pub(crate) counters: Counters,
}

impl FlashIndex {
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
        let name = KeyName::of(key, self.salt);
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
        require_writable(&*self.storage)?;
        let target = self.writer.lock().appended;
        let Some(_guard) = self.group_commit.lead(target) else { return Ok(()) };
        let (appended, end) = {
            let writer = self.writer.lock();
            (writer.appended, self.log.write_out()?)
        };
        self.log.sync_to(end.page)?;
        self.commits.commit(|next| next.end = end).inspect_err(|_| self.log.device.mark_failed())?;
        self.group_commit.mark_durable(appended);
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
        self.log.device.check_alive()?;
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
        let (records, commits) = (self.log.device.written(), self.commits.written());
        self.counters.snapshot((records.0 + commits.0, records.1 + commits.1))
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

    /// Grows the log's device to the size of its zones. After a crash it may be shorter.
    pub(crate) fn grow_log(&self) -> Result<(), FlashError> {
        let len_bytes = {
            let zones = self.log.zones.read();
            u64::from(zones.slots) * u64::from(zones.zone_pages) * INDEX_PAGE_BYTES as u64
        };
        // A failure leaves everything as it was.
        PageDevice::grow(&*self.log.device, len_bytes).map_err(self.log.device.error("grow"))
    }

    pub(crate) fn damaged_bucket(&self, slot: u32, sector: usize) -> FlashError {
        let got = format!("a wrong checksum in sector {sector} of slot {slot}");
        FlashError::damaged(self.buckets.name(), "a bucket", got, WRITTEN)
    }

    pub(crate) fn damaged_page(&self, page: u64) -> FlashError {
        let got = format!("a wrong checksum in page {page}");
        FlashError::damaged(self.log.device.name(), "the log", got, WRITTEN)
    }
}
