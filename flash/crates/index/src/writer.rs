//! What the one that writes keeps, behind the writer's lock.

use crate::commits::Acknowledged;
use crate::manifest::Manifest;
use crate::partitions::{Bucket, Partitions};
use crate::record_log::RecordLog;

/// State of the writer, apart from the table. The writer is the thread that holds it.
pub(crate) struct Writer {
    pub(crate) pending_entries: u64,
    /// Memory of the pending entries, in bytes.
    pub(crate) pending_bytes: u64,
    pub(crate) partitions: u64,
    pub(crate) records: u64,
    /// Prefix of the next partition of this round.
    pub(crate) cursor: u64,
    /// Entries of earlier pages are in their buckets, except in the partitions that this round has not visited yet.
    pub(crate) round_page: u64,
    /// All entries of earlier pages are in their buckets.
    pub(crate) replay_page: u64,
    /// End of the log at the last checkpoint.
    pub(crate) checkpoint_page: u64,
    /// Sequence number of the last manifest, and its version.
    pub(crate) sequence: u64,
    pub(crate) version: u32,
    /// Number of this opening. The write-ahead log holds it once `is_marked_open` is true.
    pub(crate) epoch: u32,
    pub(crate) is_marked_open: bool,
    /// Records appended since opening.
    pub(crate) appended: u64,
    pub(crate) bucket_version: u32,
    pub(crate) bucket_slots: u32,
    pub(crate) free_slots: Vec<u32>,
    /// Slots of new buckets that lookups do not see yet.
    pub(crate) taken_slots: Vec<u32>,
    pub(crate) installed_slots: u32,
    /// Slots referred to by the last manifest but not by the next one.
    pub(crate) returned_slots: Vec<u32>,
    /// The end of the log at opening. Entries of earlier pages were replayed.
    pub(crate) opened_page: u64,
    /// A zone is being reclaimed. No other reclaim starts meanwhile.
    pub(crate) is_reclaiming: bool,
}

impl Writer {
    pub(crate) fn restored(manifest: &Manifest, acknowledged: &Acknowledged) -> Writer {
        let mut is_used = vec![false; manifest.bucket_slots as usize];
        for bucket in manifest.partitions.iter().filter_map(|(_, bucket)| *bucket) {
            is_used[bucket.slot as usize] = true;
        }
        Writer {
            pending_entries: 0,
            pending_bytes: 0,
            partitions: manifest.partitions.len() as u64,
            records: 0,
            cursor: 0,
            round_page: acknowledged.end.page,
            replay_page: manifest.replay_page,
            checkpoint_page: manifest.counted_page,
            sequence: manifest.sequence,
            version: manifest.version,
            epoch: acknowledged.epoch + 1,
            is_marked_open: false,
            appended: 0,
            bucket_version: manifest.bucket_version,
            bucket_slots: manifest.bucket_slots,
            free_slots: (0..manifest.bucket_slots).rev().filter(|slot| !is_used[*slot as usize]).collect(),
            taken_slots: Vec::new(),
            installed_slots: manifest.bucket_slots,
            returned_slots: Vec::new(),
            opened_page: acknowledged.end.page_behind(),
            is_reclaiming: false,
        }
    }

    /// Initialises the counters of entries and records after a replay.
    pub(crate) fn count_entries(&mut self, table: &Partitions, log: &RecordLog) {
        self.pending_entries = table.ordered().map(|p| table.pending_entries(p).len() as u64).sum();
        self.pending_bytes = table.pending_bytes();
        self.records = log.zones.read().live.values().map(|zone| u64::from(zone.records)).sum();
    }

    /// Allocates a bucket of `sectors` in a slot that no manifest refers to.
    pub(crate) fn new_bucket(&mut self, sectors: usize) -> Bucket {
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.bucket_slots += 1;
            self.bucket_slots - 1
        });
        self.taken_slots.push(slot);
        self.bucket_version = self.bucket_version.wrapping_add(1);
        Bucket { slot, version: self.bucket_version, sectors: sectors as u8 }
    }

    /// Frees the slots of new buckets after a failure.
    pub(crate) fn give_back_slots(&mut self) {
        let installed = self.installed_slots;
        self.free_slots.extend(self.taken_slots.drain(..).filter(|slot| *slot < installed));
        self.bucket_slots = installed;
    }
}
