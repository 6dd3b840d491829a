//! Rebuilds damaged buckets from the log, which holds the same information.
//!
//! Some devices write blocks larger than a sector ("512e" disks). If such a device loses power while a sector is appended to a bucket, it
//! may lose earlier sectors of the block, though they were durable. So after a run that did not end with [`FlashIndex::close`], the next
//! opening on such a device reads the blocks that may have been written. It reads the log only if one is torn.

use std::ops::Range;

use springbloom_filter::KeyDigest;

use crate::bucket::are_sound;
use crate::entry::{Entry, belongs, fingerprint, fingerprint_bits};
use crate::flush::{Job, Outcome, Writes};
use crate::partitions::{Bucket, next_prefix};
use crate::record::INDEX_PAGE_BYTES;
use crate::store::FlashIndex;
use crate::writer::Writer;
use springbloom_page_device::{FlashError, SECTOR_BYTES, Span, Watch};

/// Buckets rebuilt in one pass over the log: about 10 MB of entries.
const REBUILT_TOGETHER: usize = 512;
/// Buckets that are read together.
const READ_TOGETHER: usize = 1024;

impl FlashIndex {
    /// Reads every bucket and rebuilds the damaged ones from the log. Returns how many were rebuilt. Durable on return. Blocks writers, not
    /// readers.
    ///
    /// Errors: a page of the log is damaged too, so the bucket cannot be rebuilt (see [`salvage`](Self::salvage)), or a device operation
    /// fails. Cost: reads all buckets. If one is damaged, reads the whole log. `watch` is told the bytes that are read; what it ends early
    /// may have rebuilt some.
    pub fn repair(&self, watch: &mut Watch<'_>) -> Result<u64, FlashError> {
        let mut writer = self.writer.lock();
        let damaged = self.unreadable(|bucket| 0..usize::from(bucket.sectors), watch)?;
        self.rebuild(&mut writer, damaged, watch).inspect_err(|_| writer.give_back_slots())
    }

    /// Like [`repair`](Self::repair), for sectors that an interrupted flush may have torn. Damage to the log is left for lookups to report.
    pub(crate) fn rebuild_torn(&self, writer: &mut Writer, watch: &mut Watch<'_>) -> Result<(), FlashError> {
        let piece = self.buckets.blocks().physical_bytes / SECTOR_BYTES;
        if piece == 1 {
            return Ok(());
        }
        let are_whole_pieces = usize::from(self.settings.bucket_sectors).is_multiple_of(piece);
        let last_piece = |bucket: Bucket| {
            let sectors = usize::from(bucket.sectors);
            if are_whole_pieces { sectors / piece * piece..sectors } else { 0..sectors }
        };
        let torn = self.unreadable(last_piece, watch)?;
        match self.rebuild(writer, torn, watch).inspect_err(|_| writer.give_back_slots()) {
            Err(error @ (FlashError::Damaged { .. } | FlashError::Crowded { .. })) => {
                log::warn!("{}: torn buckets could not be rebuilt: {error}", self.buckets.name());
            }
            rebuilt => {
                rebuilt?;
            }
        }
        Ok(())
    }

    /// The partitions whose buckets have a damaged sector among those given by `which`.
    fn unreadable(
        &self,
        which: impl Fn(Bucket) -> Range<usize>,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Job>, FlashError> {
        let mut found = Vec::new();
        let buckets = self.table.read().ordered().filter(|partition| partition.bucket().is_some()).count();
        watch.expect((buckets * self.bucket_bytes()) as u64);
        let mut prefix = Some(0);
        while prefix.is_some() {
            let mut jobs: Vec<(Job, Bucket)> = Vec::new();
            {
                let table = self.table.read();
                while let Some(at) = prefix.filter(|_| jobs.len() < READ_TOGETHER) {
                    let partition = table.at(at);
                    let depth = partition.depth;
                    if let Some(bucket) = partition.bucket().filter(|bucket| !which(*bucket).is_empty()) {
                        jobs.push((Job { prefix: at, depth, bucket: Some(bucket) }, bucket));
                    }
                    prefix = next_prefix(at, depth);
                }
            }
            let is_sound = self.are_sound(&jobs, &which);
            watch.advance((jobs.len() * self.bucket_bytes()) as u64)?;
            let damaged = jobs.into_iter().zip(is_sound).filter(|(_, is_sound)| !is_sound);
            found.extend(damaged.map(|((job, _), _)| job));
        }
        Ok(found)
    }

    fn are_sound(&self, jobs: &[(Job, Bucket)], which: impl Fn(Bucket) -> Range<usize>) -> Vec<bool> {
        let spans: Vec<Span> = jobs.iter().map(|(_, bucket)| self.span_of(*bucket, which(*bucket))).collect();
        let mut is_sound = vec![false; jobs.len()];
        self.buckets.read_each(&spans, &mut |n, bytes| {
            let bucket = jobs[n].1;
            // A torn block may read as garbage or as a device error.
            is_sound[n] =
                bytes.is_ok_and(|bytes| are_sound(bucket.key(self.salt), which(bucket).start, bytes));
        });
        is_sound
    }

    fn rebuild(
        &self,
        writer: &mut Writer,
        mut jobs: Vec<Job>,
        watch: &mut Watch<'_>,
    ) -> Result<u64, FlashError> {
        let count = jobs.len() as u64;
        while !jobs.is_empty() {
            let rest = jobs.split_off(jobs.len().min(REBUILT_TOGETHER));
            let mut writes = Writes::default();
            let mut outcomes = Vec::with_capacity(jobs.len());
            for (job, entries) in jobs.iter().zip(self.entries_in_log(&jobs, watch)?) {
                let parts = self.pack(writer, job, entries, &mut writes)?;
                let table = self.table.read();
                outcomes.push(Outcome { parts, moved: table.pending_entries(table.at(job.prefix)).len() });
            }
            self.write_buckets(writer, writes)?;
            self.install(writer, std::mem::replace(&mut jobs, rest), outcomes);
        }
        if count > 0 {
            log::warn!("{}: {count} damaged buckets were rebuilt", self.buckets.name());
            self.counters.buckets_rebuilt.add(count);
            self.checkpoint(writer, false)?;
        }
        Ok(count)
    }

    /// For each of `jobs`, which are in prefix order: the entries of all its records in the log.
    fn entries_in_log(&self, jobs: &[Job], watch: &mut Watch<'_>) -> Result<Vec<Vec<Entry>>, FlashError> {
        let mut entries: Vec<Vec<Entry>> = jobs.iter().map(|_| Vec::new()).collect();
        let mut take = |digest: KeyDigest, page: u64| {
            let Some(n) = jobs.partition_point(|job| job.prefix <= digest.hi).checked_sub(1) else { return };
            let Job { prefix, depth, .. } = jobs[n];
            if belongs(digest, prefix, depth) {
                let bits = fingerprint_bits(depth);
                entries[n].push(Entry { page, fingerprint: fingerprint(digest, depth, bits), bits });
            }
        };
        for (first, end) in self.zone_pages() {
            watch.expect((end - first) * INDEX_PAGE_BYTES as u64);
            self.each_run(first, end, &mut |pages| {
                for page in pages {
                    page.records().for_each(|record| take(record.name.digest(self.salt), page.head.page));
                }
                watch.advance((pages.len() * INDEX_PAGE_BYTES) as u64)
            })?;
        }
        Ok(entries)
    }
}
