//! Finding records: one key or many at once, so that the device has as many reads to do as it can take.
//!
//! A search takes what memory knows (pages of waiting entries, the bucket) under a shared lock and reads without any. What it reads may
//! have been replaced meanwhile: sectors and pages that are not what was looked for are compared with what memory knows now, and the search starts over if that has changed; else they
//! are damage, which is an error.

use springbloom_filter::{FilterGroup, KeyDigest};

use super::bucket::{decode, matches};
use super::partitions::Bucket;
use super::prefilter;
use super::record::{Record, Value, check_lengths};
use super::record_log::PageFault;
use super::store::FlashIndex;
use crate::device::{SECTOR_BYTES, Span};
use crate::error::FlashError;

/// Keys of one batch; bounds the memory of a call.
const BATCH_KEYS: usize = 1024;
/// A search that meets the writer this often is not unlucky: something is wrong.
const RESTARTS_MAX: u8 = 100;

/// The newest record of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) page: u64,
    /// Where it begins in its page.
    pub(super) offset: u16,
    /// None for a tombstone; empty if values were not asked for.
    pub(super) value: Option<Vec<u8>>,
    /// Pages that may hold older records of the key, oldest first; None if its bucket was not looked into.
    pub(super) older_pages: Option<Vec<u64>>,
}

/// One key's way to its record.
struct Search<'k> {
    key: &'k [u8],
    digest: KeyDigest,
    depth: u8,
    /// The partition has a bucket and no pre-filter, as all have after opening.
    lacks_filter: bool,
    /// Read once the pages run out.
    bucket: Option<Bucket>,
    /// Where the record may be, newest last.
    pages: Vec<u64>,
    /// Zones reclaimed when the search started.
    reclaimed: u64,
    restarts: u8,
    found: Option<Found>,
}

impl FlashIndex {
    /// The value of `key`, or `None` if it was never put or is deleted.
    ///
    /// Cost: see [`get_many`](Self::get_many). Errors: the device refuses, or what it returns is damaged.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, FlashError> {
        Ok(self.get_many(&[key])?.pop().flatten())
    }

    /// The values of `keys`, in their order. Reads two pages' worth for a key that is there (its partition's bucket and
    /// its record's page) and mostly none for one that is not; all reads of a batch are in flight together. A key that was put or deleted
    /// meanwhile has its value from before or after.
    pub fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, FlashError> {
        let mut values = Vec::with_capacity(keys.len());
        for batch in keys.chunks(BATCH_KEYS) {
            let found = self.search(batch, true)?;
            values.extend(found.into_iter().map(|found| found.and_then(|found| found.value)));
        }
        self.counters.lookups.add(keys.len() as u64);
        Ok(values)
    }

    /// The newest record of each key.
    pub(super) fn search(
        &self,
        keys: &[&[u8]],
        wants_values: bool,
    ) -> Result<Vec<Option<Found>>, FlashError> {
        let mut searches = Vec::with_capacity(keys.len());
        for key in keys {
            check_lengths(key, &[])?;
            searches.push(Search {
                key,
                digest: KeyDigest::of(key),
                depth: 0,
                lacks_filter: false,
                bucket: None,
                pages: Vec::new(),
                reclaimed: 0,
                restarts: 0,
                found: None,
            });
        }
        let all: Vec<usize> = (0..keys.len()).collect();
        self.start(&mut searches, &all)?;
        loop {
            let (mut pages, mut buckets) = (Vec::new(), Vec::new());
            for (i, search) in searches.iter_mut().enumerate().filter(|(_, search)| search.found.is_none()) {
                if let Some(page) = search.pages.pop() {
                    pages.push((page, i));
                } else if let Some(bucket) = search.bucket.take() {
                    buckets.push((bucket, i));
                }
            }
            if pages.is_empty() && buckets.is_empty() {
                return Ok(searches.into_iter().map(|search| search.found).collect());
            }
            let mut again = Vec::new();
            self.read_buckets(&mut searches, &mut buckets, &mut again)?;
            self.read_pages(&mut searches, &mut pages, wants_values, &mut again)?;
            self.counters.restarts.add(again.len() as u64);
            self.start(&mut searches, &again)?;
        }
    }

    /// Takes what memory knows about the searches numbered `which`.
    fn start(&self, searches: &mut [Search<'_>], which: &[usize]) -> Result<(), FlashError> {
        if which.is_empty() {
            return Ok(());
        }
        let reclaimed = self.counters.snapshot().zones_reclaimed;
        let table = self.table();
        // Taken under the table's lock: nothing is pushed meanwhile, so no waiting entry is of a later page.
        let newest_page = self.log.newest_page();
        for &i in which {
            let search = &mut searches[i];
            search.restarts += 1;
            if search.restarts > RESTARTS_MAX {
                return Err(self.damaged_page(newest_page));
            }
            let partition = table.get(table.find(search.digest.hi));
            search.pages.clear();
            partition.pending_pages(search.digest, newest_page, &mut search.pages);
            search.bucket = partition.bucket_for(search.digest);
            search.lacks_filter = partition.filter.is_none();
            (search.depth, search.reclaimed) = (partition.depth, reclaimed);
        }
        Ok(())
    }

    fn read_buckets(
        &self,
        searches: &mut [Search<'_>],
        wanted: &mut [(Bucket, usize)],
        again: &mut Vec<usize>,
    ) -> Result<(), FlashError> {
        wanted.sort_by_key(|(bucket, _)| bucket.slot);
        let groups: Vec<&[(Bucket, usize)]> = wanted.chunk_by(|a, b| a.0 == b.0).collect();
        let bucket_bytes = self.bucket_bytes() as u64;
        let spans: Vec<Span> = groups
            .iter()
            .map(|group| Span {
                offset: u64::from(group[0].0.slot) * bucket_bytes,
                len_bytes: usize::from(group[0].0.sectors) * SECTOR_BYTES,
            })
            .collect();
        self.counters.bucket_reads.add(spans.len() as u64);
        let mut failure = None;
        let mut filters = Vec::new();
        self.buckets.read_each(&spans, &mut |n, bytes| {
            let (bucket, first) = groups[n][0];
            if let Ok(bytes) = bytes
                && searches[first].lacks_filter
                && let Some(filter) = self.filter_of(bucket, bytes)
            {
                filters.push((searches[first].digest, bucket, filter));
            }
            for &(bucket, i) in groups[n] {
                let search = &mut searches[i];
                let read = match &bytes {
                    Ok(bytes) => {
                        matches(bucket.key(self.salt), bytes, search.digest, search.depth, &mut search.pages)
                            .map(|()| {
                                // Appended after a replay, older entries may stand behind newer ones, and twice.
                                search.pages.sort_unstable();
                                search.pages.dedup();
                            })
                            .map_err(|sector| self.damaged_bucket(bucket.slot, sector))
                    }
                    Err(e) => Err(self.unread_bucket(e.kind().into())),
                };
                match read {
                    Ok(()) => {}
                    Err(_) if self.has_changed(search.digest, bucket) => again.push(i),
                    Err(error) => failure = failure.take().or(Some(error)),
                }
            }
        });
        self.install_filters(filters);
        failure.map_or(Ok(()), Err)
    }

    /// The pre-filter over a bucket that was read anyway.
    fn filter_of(&self, bucket: Bucket, bytes: &[u8]) -> Option<FilterGroup> {
        let units = self.memory.prefilter.as_ref()?;
        let mut entries = Vec::new();
        decode(bucket.key(self.salt), bytes, |entry| entries.push(entry)).ok()?;
        prefilter::build(units, &entries)
    }

    /// Gives the partitions of these digests their pre-filters, unless they have another bucket by now.
    fn install_filters(&self, filters: Vec<(KeyDigest, Bucket, FilterGroup)>) {
        if filters.is_empty() {
            return;
        }
        let mut table = self.table_mut();
        for (digest, bucket, filter) in filters {
            let partition = table.find(digest.hi);
            let partition = table.get_mut(partition);
            if partition.bucket == Some(bucket) && partition.filter.is_none() {
                partition.filter = Some(filter);
            }
        }
    }

    /// Whether the partition has another bucket by now.
    fn has_changed(&self, digest: KeyDigest, bucket: Bucket) -> bool {
        let table = self.table();
        let now = table.get(table.find(digest.hi)).bucket;
        now.is_none_or(|now| (now.slot, now.birth) != (bucket.slot, bucket.birth))
    }

    fn read_pages(
        &self,
        searches: &mut [Search<'_>],
        wanted: &mut [(u64, usize)],
        wants_values: bool,
        again: &mut Vec<usize>,
    ) -> Result<(), FlashError> {
        wanted.sort_unstable();
        let groups: Vec<&[(u64, usize)]> = wanted.chunk_by(|a, b| a.0 == b.0).collect();
        let pages: Vec<u64> = groups.iter().map(|group| group[0].0).collect();
        let mut failure = None;
        let mut begun = Vec::new();
        let (mut reads, mut wasted) = (0, 0);
        self.log.read_each(&pages, &mut |n, page| {
            let page = match page {
                Ok(page) => page,
                Err(PageFault::Reclaimed) => {
                    // Entries outlive their zones; only a zone that went away during the search may have held the record.
                    let now = self.counters.snapshot().zones_reclaimed;
                    again.extend(groups[n].iter().map(|(_, i)| *i).filter(|i| searches[*i].reclaimed != now));
                    return;
                }
                Err(fault) => {
                    failure = failure.take().or(Some(self.page_error(pages[n], fault)));
                    return;
                }
            };
            reads += 1;
            let mut is_wasted = true;
            for &(number, i) in groups[n] {
                let Some(record) = page.find(searches[i].key) else { continue };
                is_wasted = false;
                let (value, missing_bytes) = value_of(&record, wants_values);
                if missing_bytes > 0 {
                    begun.push((i, missing_bytes));
                }
                let older_pages =
                    searches[i].bucket.is_none().then(|| std::mem::take(&mut searches[i].pages));
                let offset = record.offset;
                searches[i].found = Some(Found { page: number, offset, value, older_pages });
            }
            wasted += u64::from(is_wasted);
        });
        self.counters.page_reads.add(reads);
        self.counters.wasted_reads.add(wasted);
        for (i, missing_bytes) in begun {
            let Some(found) = &mut searches[i].found else { continue };
            let Some(value) = &mut found.value else { continue };
            if let Err(fault) = self.log.read_rest(found.page + 1, missing_bytes, value) {
                if !matches!(fault, PageFault::Reclaimed) {
                    failure = failure.take().or(Some(self.page_error(found.page, fault)));
                }
                searches[i].found = None;
                again.push(i);
            }
        }
        failure.map_or(Ok(()), Err)
    }

    pub(super) fn page_error(&self, page: u64, fault: PageFault) -> FlashError {
        match fault {
            PageFault::Device(e) => FlashError::io("read", self.log.name())(e),
            PageFault::Damaged | PageFault::Reclaimed => self.damaged_page(page),
        }
    }
}

/// The value as far as it is in the record's first page, and how many bytes are not.
pub(super) fn value_of(record: &Record<'_>, wants_values: bool) -> (Option<Vec<u8>>, usize) {
    match record.value {
        Value::Tombstone => (None, 0),
        _ if !wants_values => (Some(Vec::new()), 0),
        Value::Whole(value) => (Some(value.to_vec()), 0),
        Value::Begun { len_bytes, here } => (Some(here.to_vec()), len_bytes - here.len()),
    }
}
