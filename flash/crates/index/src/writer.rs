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
    /// By slot: buckets that are not appended to. A run that was killed may have written sectors behind theirs, which a copy of the files
    /// could take for those of this run.
    sealed_slots: Vec<bool>,
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

/// More than the buckets that a run makes after its last manifest.
const UNKNOWN_BUCKETS: u32 = 1 << 20;

/// Versions that follow on those which runs with other epochs may have given to buckets that no manifest names.
fn versions_behind(version: u32, epoch: u32) -> u32 {
    version.wrapping_add((1 + epoch % 1023) * UNKNOWN_BUCKETS)
}

impl Writer {
    pub(crate) fn restored(manifest: &Manifest, acknowledged: &Acknowledged) -> Writer {
        let mut is_used = vec![false; manifest.bucket_slots as usize];
        for bucket in manifest.partitions.iter().filter_map(|(_, bucket)| *bucket) {
            is_used[bucket.slot as usize] = true;
        }
        let was_killed = !acknowledged.is_closed;
        let bucket_version = match was_killed {
            true => versions_behind(manifest.bucket_version, acknowledged.epoch),
            false => manifest.bucket_version,
        };
        let free_slots = (0..manifest.bucket_slots).rev().filter(|slot| !is_used[*slot as usize]).collect();
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
            bucket_version,
            bucket_slots: manifest.bucket_slots,
            sealed_slots: if was_killed || manifest.has_sealed { is_used } else { Vec::new() },
            free_slots,
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

    /// Whether the bucket in the slot is appended to.
    pub(crate) fn is_sealed(&self, slot: u32) -> bool {
        self.sealed_slots.get(slot as usize).is_some_and(|sealed| *sealed)
    }

    pub(crate) fn has_sealed(&self) -> bool {
        self.sealed_slots.contains(&true)
    }

    /// The next manifest does not refer to the slot.
    pub(crate) fn return_slot(&mut self, slot: u32) {
        self.returned_slots.push(slot);
        self.sealed_slots.get_mut(slot as usize).into_iter().for_each(|sealed| *sealed = false);
    }

    /// Frees the slots of new buckets after a failure.
    pub(crate) fn give_back_slots(&mut self) {
        let installed = self.installed_slots;
        self.free_slots.extend(self.taken_slots.drain(..).filter(|slot| *slot < installed));
        self.bucket_slots = installed;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use rand::RngExt;
    use springbloom_flash_testkit::{SimPower, SimStorage};
    use springbloom_page_device::{SECTOR_BYTES, Watch};
    use springbloom_testkit::seed;

    use crate::{FlashIndex, IndexMemory, IndexSettings};

    /// By slot, version and number.
    type Sectors = HashMap<(u32, u32, usize), Vec<u8>>;

    /// Notes the sectors of all buckets. Another content of a known one fails.
    fn note(index: &FlashIndex, known: &mut Sectors) {
        let table = index.table.read();
        for bucket in table.ordered().filter_map(|partition| partition.bucket()) {
            let span = index.span_of(bucket, 0..usize::from(bucket.sectors));
            index.buckets.read_each(&[span], &mut |_, bytes| {
                for (number, sector) in bytes.expect("it was written").chunks(SECTOR_BYTES).enumerate() {
                    let key = (bucket.slot, bucket.version, number);
                    let noted = known.entry(key).or_insert_with(|| sector.to_vec());
                    assert!(noted == sector, "{key:?} has two contents");
                }
            });
        }
    }

    /// The three are the key of a sector's checksum: in a copy of the files, one of two contents could pass for the other.
    #[test]
    fn slot_version_and_number_of_a_sector_name_one_content() {
        let mut rng = seed::rng("slot_version_and_number_of_a_sector_name_one_content");
        let settings = IndexSettings { expected_keys: 0, bucket_sectors: 4, zone_pages: 32 };
        let memory = IndexMemory { pending_bytes_min: 2400, ..IndexMemory::standard() };
        for _ in 0..20 {
            let (storage, mut known) = (Arc::new(SimStorage::new(SimPower::steady())), Sectors::new());
            let mut index = FlashIndex::create_in(storage.clone(), settings, memory, 77).expect("create");
            for _ in 0..60 {
                for _ in 0..rng.random_range(0..200) {
                    let key = rng.random_range(0..3000u64).to_be_bytes();
                    index.put(&key, &rng.random::<u64>().to_be_bytes()).expect("put");
                }
                note(&index, &mut known);
                match rng.random_range(0..6) {
                    0 => index.close().expect("close"),
                    1 | 2 => drop(index), // it is killed
                    3 => {
                        _ = index.compact(&mut Watch::none()).expect("compact");
                        continue;
                    }
                    _ => continue,
                }
                index = FlashIndex::open_in(storage.clone(), memory).expect("open");
            }
        }
    }
}
