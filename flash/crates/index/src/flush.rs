//! Moves pending entries from memory to buckets. A round visits all partitions in the order of their prefixes.
//!
//! Keys are hashed, so visiting the fullest partition first would not append more entries at a time (twice the mean in both cases). In
//! prefix order no entry is pending for longer than a round, which bounds what recovery replays.

use std::collections::HashSet;

use crate::bucket::{encode, runs};
use crate::entry::{DEPTH_MAX, Entry, fingerprint_bits};
use crate::halves::Halves;
use crate::partitions::{Bucket, Part, next_prefix};
use crate::prefilter::{self, HalfFilter, Prefilter};
use crate::store::FlashIndex;
use crate::writer::Writer;
use springbloom_page_device::{AlignedBuf, FlashError, SECTOR_BYTES, Watch};

/// Partitions whose buckets are read and written together.
const BATCH_PARTITIONS: usize = 32;
/// Most memory of pending entries per partition, as a lookup goes through those of one.
const PENDING_BYTES_MAX: u64 = 2 << 10;
/// A round ends once the log has grown by this many pages (1 GiB), even if few entries are pending.
const ROUND_PAGES_MAX: u64 = 1 << 18;
/// Upper bound of checkpoints while the log grows by one zone.
const CHECKPOINTS_PER_ZONE: u64 = 4;

/// A partition to flush.
pub(crate) struct Job {
    pub(crate) prefix: u64,
    pub(crate) depth: u8,
    pub(crate) bucket: Option<Bucket>,
}

/// The result of flushing a partition.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) parts: Vec<Part>,
    /// Number of pending entries that were moved.
    pub(crate) moved: usize,
}

/// Sectors to write: offset on the device and bytes.
pub(crate) type Writes = Vec<(u64, AlignedBuf)>;

impl FlashIndex {
    /// Flushes a batch if pending entries exceed their memory. Finishes the round if it has become too long.
    pub(crate) fn flush_if_due(&self, writer: &mut Writer, watch: &mut Watch<'_>) -> Result<(), FlashError> {
        let is_long = writer.records.is_multiple_of(1024)
            && self.log.newest_page() - writer.round_page > ROUND_PAGES_MAX;
        let allowed = self.memory.pending_bytes(writer.records).max(self.settings.pending_bytes_min());
        if writer.pending_bytes > allowed.min(writer.partitions * PENDING_BYTES_MAX) {
            self.flush_batch(writer, watch)?;
        } else if is_long {
            self.flush_round(writer, watch)?;
        }
        Ok(())
    }

    /// Flushes to the end of the round, and tells `watch` the partitions. What it ends early leaves the other entries pending.
    pub(crate) fn flush_round(&self, writer: &mut Writer, watch: &mut Watch<'_>) -> Result<(), FlashError> {
        let partitions = self.table.read().len() as u64;
        let before = |cursor: u64| ((u128::from(cursor) * u128::from(partitions)) >> 64) as u64;
        let mut done = before(writer.cursor);
        watch.expect(partitions - done);
        while !self.flush_batch(writer, watch)? {
            let now = before(writer.cursor);
            watch.advance(now - done)?;
            done = now;
        }
        watch.advance(partitions - done)
    }

    /// Flushes the pending entries of the next partitions. Returns true at the end of the round, when checkpoints are written.
    pub(crate) fn flush_batch(&self, writer: &mut Writer, watch: &mut Watch<'_>) -> Result<bool, FlashError> {
        let next = self.move_entries(writer).inspect_err(|_| writer.give_back_slots())?;
        writer.cursor = next.unwrap_or(0);
        if next.is_none() {
            writer.replay_page = writer.round_page;
            writer.round_page = self.log.newest_page();
            // Rounds of a small index are short, so not every round ends with a checkpoint.
            let pages = writer.round_page - writer.checkpoint_page;
            if pages >= u64::from(self.settings.zone_pages) / CHECKPOINTS_PER_ZONE {
                self.checkpoint(writer, false)?;
                self.reclaim_stale_zones(writer, watch)?;
            }
        }
        Ok(next.is_none())
    }

    /// Flushes one batch of partitions, all or none. Returns the prefix after them.
    fn move_entries(&self, writer: &mut Writer) -> Result<Option<u64>, FlashError> {
        let (jobs, next) = self.next_jobs(writer.cursor);
        let mut writes = Writes::default();
        let mut outcomes: Vec<Outcome> = jobs.iter().map(|_| Outcome::default()).collect();
        let (mut spans, mut asked) = (Vec::new(), Vec::new());
        for (i, job) in jobs.iter().enumerate() {
            match job.bucket {
                None => outcomes[i] = self.update_partition(writer, job, Halves::default(), &mut writes)?,
                Some(bucket) => {
                    spans.push(self.span_of(bucket, 0..bucket.sectors.into()));
                    asked.push((i, bucket));
                }
            }
        }
        let mut failure = None;
        self.buckets.read_each(&spans, &mut |n, bytes| {
            let (i, bucket) = asked[n];
            let job = &jobs[i];
            let updated = bytes.map_err(self.buckets.error("read")).and_then(|bytes| {
                let halves = Halves::decoded(bucket.key(self.salt), self.front_sectors(), bytes)
                    .map_err(|sector| self.damaged_bucket(bucket.slot, sector))?;
                self.update_partition(writer, job, halves, &mut writes)
            });
            match updated {
                Ok(outcome) => outcomes[i] = outcome,
                Err(error) => failure = failure.take().or(Some(error)),
            }
        });
        if let Some(error) = failure {
            return Err(error);
        }
        self.write_buckets(writer, writes)?;
        self.install(writer, jobs, outcomes);
        Ok(next)
    }

    /// The partitions of the next batch with pending entries, and the prefix after them (`None` at the end of the round).
    fn next_jobs(&self, cursor: u64) -> (Vec<Job>, Option<u64>) {
        let table = self.table.read();
        let (mut jobs, mut at) = (Vec::new(), Some(cursor));
        for _ in 0..BATCH_PARTITIONS {
            let Some(prefix) = at else { break };
            let partition = table.at(prefix);
            if partition.has_pending() {
                jobs.push(Job { prefix, depth: partition.depth, bucket: partition.bucket() });
            }
            at = next_prefix(prefix, partition.depth);
        }
        (jobs, at)
    }

    /// Appends the pending entries to the bucket, or packs all entries into new buckets. Adds the sectors to `writes`.
    fn update_partition(
        &self,
        writer: &mut Writer,
        job: &Job,
        mut halves: Halves,
        writes: &mut Writes,
    ) -> Result<Outcome, FlashError> {
        let mut pending = {
            let table = self.table.read();
            table.pending_entries(table.at(job.prefix))
        };
        let moved = pending.len();
        if pending.first().is_some_and(|entry| entry.page < writer.opened_page) {
            // Replayed entries may have been appended before the last checkpoint.
            let there: HashSet<(u64, u32)> =
                halves.entries.iter().map(|entry| (entry.page, entry.fingerprint)).collect();
            pending.retain(|entry| !there.contains(&(entry.page, entry.fingerprint)));
        }
        self.count_stale(&halves.entries, &pending, job.depth);
        let appended = runs(&pending).count();
        if let Some(bucket) = job.bucket
            && !writer.is_sealed(bucket.slot)
            && usize::from(bucket.sectors) + appended <= usize::from(self.settings.bucket_sectors)
        {
            let first_sector = usize::from(bucket.sectors);
            halves.append(first_sector, self.front_sectors(), &pending);
            self.write_entries(bucket, first_sector, &pending, writes);
            // A full front half does not change, and neither does its filter.
            let is_same = first_sector >= self.front_sectors();
            let front = is_same.then(|| self.table.read().front_filter(job.prefix)).flatten();
            let filter = self.filter(front, &halves);
            let sectors = bucket.sectors + appended as u8;
            let part = Part { depth: job.depth, bucket: Some(Bucket { sectors, ..bucket }), filter };
            return Ok(Outcome { parts: vec![part], moved });
        }
        let mut entries = halves.entries;
        {
            let zones = self.log.zones.read();
            entries.retain(|entry| zones.device_page(entry.page).is_some());
        }
        entries.extend_from_slice(&pending);
        Ok(Outcome { parts: self.pack(writer, job, entries, writes)?, moved })
    }

    /// Packs the `entries` of a partition into one or more new buckets and adds their sectors to `writes`.
    pub(crate) fn pack(
        &self,
        writer: &mut Writer,
        job: &Job,
        mut entries: Vec<Entry>,
        writes: &mut Writes,
    ) -> Result<Vec<Part>, FlashError> {
        // Replayed entries may be older than others of the bucket.
        entries.sort_by_key(|entry| entry.page);
        entries.dedup();
        let entries = self.without_repeats(entries, job.prefix, job.depth)?;
        let mut parts = Vec::new();
        self.split(writer, job.depth, entries, writes, &mut parts)?;
        Ok(parts)
    }

    /// Packs `entries` into one new bucket, or splits them until each part leaves a quarter of its bucket free.
    fn split(
        &self,
        writer: &mut Writer,
        depth: u8,
        entries: Vec<Entry>,
        writes: &mut Writes,
        parts: &mut Vec<Part>,
    ) -> Result<(), FlashError> {
        let sectors_max = usize::from(self.settings.bucket_sectors);
        let sectors = runs(&entries).count();
        if sectors <= sectors_max - sectors_max / 4 {
            let bucket = (sectors > 0).then(|| writer.new_bucket(sectors));
            if let Some(bucket) = bucket {
                self.write_entries(bucket, 0, &entries, writes);
            }
            let mut halves = Halves::default();
            halves.append(0, self.front_sectors(), &entries);
            parts.push(Part { depth, bucket, filter: self.filter(None, &halves) });
            return Ok(());
        }
        // Hashed keys spread evenly. A partition much deeper than the number of records explains holds many equal digests.
        if depth >= DEPTH_MAX.min(writer.records.max(1).ilog2() as u8 + 8) {
            return Err(FlashError::Crowded { got_entries: entries.len() });
        }
        self.counters.splits.add(1);
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        for (half, entry) in entries.into_iter().map(Entry::split) {
            if half != Some(true) {
                lower.push(entry);
            }
            if half != Some(false) {
                upper.push(entry);
            }
        }
        self.split(writer, depth + 1, lower, writes, parts)?;
        self.split(writer, depth + 1, upper, writes, parts)
    }

    /// Builds the filters over a bucket. `front` is the front's filter if it is known already.
    pub(crate) fn filter(&self, front: Option<HalfFilter>, halves: &Halves) -> Option<Prefilter> {
        let [front_units, back_units] = self.memory.prefilter.as_ref()?;
        let front = front.or_else(|| prefilter::build(front_units, halves.front()))?;
        Some(Prefilter::new(front, prefilter::build(back_units, halves.back())?))
    }

    fn write_entries(&self, bucket: Bucket, first_sector: usize, entries: &[Entry], writes: &mut Writes) {
        let sectors = runs(entries).count();
        let mut bytes = AlignedBuf::new(sectors * SECTOR_BYTES);
        for ((number, run), sector) in (first_sector..).zip(runs(entries)).zip(bytes.chunks_mut(SECTOR_BYTES))
        {
            encode(bucket.key(self.salt), number, run, sector);
        }
        let end = first_sector + sectors;
        writes.push((self.span_of(bucket, first_sector..end).offset, bytes));
    }

    pub(crate) fn write_buckets(&self, writer: &mut Writer, writes: Writes) -> Result<(), FlashError> {
        self.mark_open(writer)?;
        let len_bytes = u64::from(writer.bucket_slots) * self.bucket_bytes() as u64;
        let pieces: Vec<(u64, &[u8])> = writes.iter().map(|(offset, bytes)| (*offset, &**bytes)).collect();
        let written = self.buckets.grow(len_bytes).and_then(|()| self.buckets.write_each(&pieces));
        written.inspect_err(|_| self.log.device.mark_failed())?;
        self.counters.bucket_bytes_written.add(pieces.iter().map(|(_, bytes)| bytes.len() as u64).sum());
        Ok(())
    }

    /// Makes the outcomes visible to lookups.
    pub(crate) fn install(&self, writer: &mut Writer, jobs: Vec<Job>, outcomes: Vec<Outcome>) {
        let mut table = self.table.write();
        for (job, Outcome { parts, moved }) in jobs.into_iter().zip(outcomes) {
            writer.pending_entries -= moved as u64;
            let old_slot = job.bucket.map(|bucket| bucket.slot);
            let stays = parts.iter().any(|part| part.bucket.map(|bucket| bucket.slot) == old_slot);
            old_slot.filter(|_| !stays).into_iter().for_each(|slot| writer.return_slot(slot));
            table.replace(job.prefix, parts);
        }
        writer.taken_slots.clear();
        writer.installed_slots = writer.bucket_slots;
        writer.pending_bytes = table.pending_bytes();
        writer.partitions = table.len() as u64;
    }

    /// Counts replaced records by zone. This is an estimate, since different keys may have equal fingerprints.
    fn count_stale(&self, entries: &[Entry], pending: &[Entry], depth: u8) {
        let bits = fingerprint_bits(depth);
        let mut newest: Vec<(u32, u64)> =
            pending.iter().map(|entry| (entry.fingerprint, entry.page)).collect();
        newest.sort_unstable();
        let mut zones = self.log.zones.write();
        for pair in newest.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            zones.count_stale(pair[0].1);
        }
        newest.dedup_by_key(|(fingerprint, _)| *fingerprint);
        // If a key was replaced before, its older records were counted then. Only the last one becomes stale now.
        let mut replaced: Vec<Option<u64>> = vec![None; newest.len()];
        for entry in entries {
            let spread = bits - entry.bits.min(bits);
            let at = newest.partition_point(|(fingerprint, _)| fingerprint >> spread < entry.fingerprint);
            if let Some((fingerprint, page)) = newest.get(at)
                && fingerprint >> spread == entry.fingerprint
                && entry.page < *page
            {
                replaced[at] = replaced[at].max(Some(entry.page));
            }
        }
        replaced.into_iter().flatten().for_each(|page| zones.count_stale(page));
    }
}
