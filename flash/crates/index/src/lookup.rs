//! Lookups, of one key or of many at once, with as many reads in flight as the device takes.
//!
//! A search takes the pages of pending entries and the bucket under a shared lock, and reads without any lock. Each read decides the
//! search's next one. Searches that need the same page or bucket share a read. The writer may replace a bucket or page during the search.
//! So when a read returns unexpected bytes, the search compares with the current state: if that has changed, the search restarts. Otherwise
//! the bytes are damaged, which is an error.

use std::collections::VecDeque;
use std::collections::hash_map::Entry as MapEntry;
use std::io;

use rustc_hash::FxHashMap;
use springbloom_filter::KeyDigest;

use crate::bucket::matches;
use crate::halves::Halves;
use crate::partitions::{Bucket, BucketPart, Known};
use crate::prefilter::Prefilter;
use crate::record::{INDEX_PAGE_BYTES, KeyName, Page, check_lengths};
use crate::record_log::{PageFault, PagePlace};
use crate::store::FlashIndex;
use springbloom_page_device::{AnswerMemory, FlashError, PlannedRead, ReadPlan};

/// Keys of one batch. Bounds the memory of a call.
pub(crate) const BATCH_KEYS: usize = 4096;
/// Searches started together when the queue of reads is empty.
const STARTED_KEYS: usize = 512;
/// Restarts after which a search fails. Meeting the writer this often is not bad luck.
const RESTARTS_MAX: u8 = 100;

/// The newest record of a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) page: u64,
    /// Offset of the record in its page.
    pub(crate) offset: u16,
    /// `None` for a tombstone. Empty if values were not asked for.
    pub(crate) value: Option<Vec<u8>>,
    /// Pages that may hold older records of the key, oldest first. `None` if its bucket was not searched.
    pub(crate) older_pages: Option<Vec<u64>>,
}

impl Found {
    /// The same for an equal key.
    fn again(&self, memory: &mut AnswerMemory) -> Result<Found, FlashError> {
        let value = self.value.as_deref().map(|value| memory.copied(value, 0)).transpose()?;
        Ok(Found { value, older_pages: self.older_pages.clone(), ..*self })
    }
}

/// The search for one key.
struct Search<'k> {
    name: KeyName<'k>,
    digest: KeyDigest,
    /// What was in memory when the search started. Its part of the bucket, until that is asked for, is read after all pages in memory.
    known: Known,
    /// Pages that may hold the record, newest last.
    pages: Vec<u64>,
    /// The oldest page that was taken. There may be pending entries for older ones: see [`Known::has_older`].
    oldest_page: u64,
    /// Value of the counter `zones_reclaimed` when the search started.
    reclaimed: u64,
    restarts: u8,
    /// The next search in the list of those that wait for the same read.
    next_waiting: Option<usize>,
    found: Option<Found>,
}

/// The target of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Target {
    Bucket(BucketPart),
    Page(u64),
}

/// The searches of one batch.
struct Searches<'s, 'k> {
    index: &'s FlashIndex,
    wants_values: bool,
    searches: Vec<Search<'k>>,
    /// Number of searches that have been started.
    started: usize,
    queue: VecDeque<usize>,
    /// All reads so far, by tag: the target, and the first search that waits for it.
    reads: Vec<(Target, Option<usize>)>,
    /// Tags of the reads in flight.
    asked: FxHashMap<Target, usize>,
    /// Searches whose record continues in later pages.
    begun: Vec<Begun>,
    memory: AnswerMemory,
    failure: Option<FlashError>,
}

/// A search that found a record whose value ends in a later page.
struct Begun {
    search: usize,
    /// Bytes of the key in later pages, and of key and value together.
    key_bytes: usize,
    missing_bytes: usize,
}

impl FlashIndex {
    /// The value of `key`, or `None` if it is absent or deleted.
    ///
    /// Cost and errors: see [`get_many`](Self::get_many).
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, FlashError> {
        Ok(self.get_many(&[key])?.pop().flatten())
    }

    /// The values of `keys`, in their order. Errors: a read fails or returns damaged data, or a key has an invalid length.
    ///
    /// Cost: two reads for a present key (half of its partition's bucket, and the page of its record), and mostly none for an absent one.
    /// The reads of a batch are in flight together. A key that is put or deleted meanwhile has its old or its new value.
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
    pub(crate) fn search(
        &self,
        keys: &[&[u8]],
        wants_values: bool,
    ) -> Result<Vec<Option<Found>>, FlashError> {
        keys.iter().try_for_each(|key| check_lengths(key, &[], self.settings.zone_pages))?;
        let names: Vec<KeyName<'_>> = keys.iter().map(|key| KeyName::of(key, self.salt)).collect();
        self.search_names(&names, wants_values)
    }

    /// The same for keys by their names.
    pub(crate) fn search_names(
        &self,
        names: &[KeyName<'_>],
        wants_values: bool,
    ) -> Result<Vec<Option<Found>>, FlashError> {
        // Equal keys are searched for once.
        let mut firsts: FxHashMap<KeyName<'_>, usize> = FxHashMap::default();
        let mut unique: Vec<KeyName<'_>> = Vec::with_capacity(names.len());
        let places: Vec<usize> = names
            .iter()
            .map(|name| {
                *firsts.entry(*name).or_insert_with(|| {
                    unique.push(*name);
                    unique.len() - 1
                })
            })
            .collect();
        let found = self.search_each(&unique, wants_values)?;
        if unique.len() == names.len() {
            return Ok(found);
        }
        let mut memory = AnswerMemory::new(names.len())?;
        let of_place = |place: usize| found[place].as_ref().map(|found| found.again(&mut memory)).transpose();
        places.into_iter().map(of_place).collect()
    }

    /// The newest record of each key. The keys are distinct.
    fn search_each(
        &self,
        names: &[KeyName<'_>],
        wants_values: bool,
    ) -> Result<Vec<Option<Found>>, FlashError> {
        let searches = names.iter().map(|name| Search {
            name: *name,
            digest: name.digest(self.salt),
            known: Known::default(),
            pages: Vec::new(),
            oldest_page: u64::MAX,
            reclaimed: 0,
            restarts: 0,
            next_waiting: None,
            found: None,
        });
        let mut searches = Searches {
            index: self,
            wants_values,
            searches: searches.collect(),
            started: 0,
            queue: VecDeque::new(),
            reads: Vec::with_capacity(2 * names.len()),
            asked: FxHashMap::default(),
            begun: Vec::new(),
            memory: AnswerMemory::new(names.len())?,
            failure: None,
        };
        loop {
            self.buckets.read_planned(
                &*self.log.device,
                self.bucket_bytes().max(INDEX_PAGE_BYTES),
                &mut searches,
            );
            if let Some(failure) = searches.failure {
                return Err(failure);
            }
            if searches.begun.is_empty() {
                return Ok(searches.searches.into_iter().map(|search| search.found).collect());
            }
            searches.finish_values();
        }
    }

    /// Builds the pre-filter of a bucket that a lookup has read.
    fn filter_of(&self, bucket: Bucket, bytes: &[u8]) -> Option<Prefilter> {
        self.memory.prefilter.as_ref()?;
        let halves = Halves::decoded(bucket.key(self.salt), self.front_sectors(), bytes).ok()?;
        self.filter(None, &halves)
    }

    /// Whether the bucket of the partition has been replaced.
    fn has_changed(&self, digest: KeyDigest, bucket: Bucket) -> bool {
        let table = self.table.read();
        let now = table.at(digest.hi).bucket();
        now.is_none_or(|now| (now.slot, now.version) != (bucket.slot, bucket.version))
    }

    pub(crate) fn page_error(&self, page: u64, fault: PageFault) -> FlashError {
        match fault {
            PageFault::Device(e) => self.log.device.error("read")(e),
            PageFault::Damaged | PageFault::Reclaimed => self.damaged_page(page),
        }
    }
}

impl Searches<'_, '_> {
    /// Takes the state in memory of the searches `which`, and requests their first reads.
    fn start(&mut self, which: impl Iterator<Item = usize> + Clone) {
        let reclaimed = self.index.counters.zones_reclaimed.get();
        {
            let table = self.index.table.read();
            for i in which.clone() {
                let search = &mut self.searches[i];
                search.pages.clear();
                search.known = table.look(search.digest, u64::MAX, &mut search.pages);
                search.reclaimed = reclaimed;
                search.oldest_page = search.pages.first().copied().unwrap_or(u64::MAX);
            }
        }
        which.for_each(|i| self.go_on(i));
    }

    fn start_over(&mut self, i: usize) {
        let search = &mut self.searches[i];
        search.restarts += 1;
        if search.restarts > RESTARTS_MAX {
            let page = search.pages.pop().unwrap_or_default();
            self.failure = Some(self.index.damaged_page(page));
            return;
        }
        self.start(std::iter::once(i));
    }

    /// Takes the next older pages of a key that was put very often. Returns false if the writer has flushed them meanwhile.
    fn take_older(&mut self, i: usize) -> bool {
        let search = &mut self.searches[i];
        let known = self.index.table.read().look(search.digest, search.oldest_page, &mut search.pages);
        search.known.has_older = known.has_older;
        search.oldest_page = search.pages.first().copied().unwrap_or(search.oldest_page);
        (known.depth, known.bucket) == (search.known.depth, search.known.bucket)
    }

    /// Requests the next read of a search that has not found its record.
    fn go_on(&mut self, i: usize) {
        while self.searches[i].pages.is_empty() && self.searches[i].known.has_older {
            if !self.take_older(i) {
                return self.start_over(i);
            }
        }
        let search = &mut self.searches[i];
        let target = match search.pages.pop() {
            Some(page) => Target::Page(page),
            None => match search.known.part.take() {
                Some(part) => Target::Bucket(part),
                None => return,
            },
        };
        match self.asked.entry(target) {
            MapEntry::Occupied(read) => search.next_waiting = self.reads[*read.get()].1.replace(i),
            MapEntry::Vacant(vacant) => {
                let tag = self.reads.len();
                vacant.insert(tag);
                self.reads.push((target, Some(i)));
                self.queue.push_back(tag);
            }
        }
    }

    /// Removes and returns the first search of the list `waiting`.
    fn next_of(&mut self, waiting: &mut Option<usize>) -> Option<usize> {
        let i = (*waiting)?;
        *waiting = self.searches[i].next_waiting.take();
        Some(i)
    }

    fn bucket_arrived(&mut self, part: BucketPart, bytes: io::Result<&[u8]>, mut waiting: Option<usize>) {
        let (index, bucket, first) = (self.index, part.bucket, usize::from(part.first));
        let first_waiting = waiting;
        let mut has_matches = false;
        while let Some(i) = self.next_of(&mut waiting) {
            let search = &mut self.searches[i];
            let read = match &bytes {
                Ok(bytes) => {
                    let key = bucket.key(index.salt);
                    matches(key, first, bytes, search.digest, search.known.depth, &mut search.pages)
                        .map_err(|sector| index.damaged_bucket(bucket.slot, sector))
                }
                Err(e) => Err(index.buckets.error("read")(e.kind().into())),
            };
            match read {
                Ok(()) => {
                    // After a replay, older entries may follow newer ones, and entries may occur twice.
                    search.pages.sort_unstable();
                    search.pages.dedup();
                    has_matches |= !search.pages.is_empty();
                    self.go_on(i);
                }
                Err(_) if index.has_changed(search.digest, bucket) => self.start_over(i),
                Err(error) => self.failure = self.failure.take().or(Some(error)),
            }
        }
        // A filter is built only if it would have saved this read, so not for lookups of present keys. Without a filter the whole bucket
        // was read.
        if let (Ok(bytes), Some(i)) = (bytes, first_waiting)
            && let search = &self.searches[i]
            && !search.known.has_filter
            && !has_matches
            && let Some(filter) = index.filter_of(bucket, bytes)
        {
            index.table.write().set_filter(search.digest.hi, bucket, filter);
        }
    }

    /// Records the arrival of a read. Returns the first search that waits for it.
    fn take_waiting(&mut self, tag: usize) -> Option<usize> {
        let (target, waiting) = &mut self.reads[tag];
        self.asked.remove(target);
        waiting.take()
    }

    fn page_arrived(&mut self, number: u64, page: Result<Page<'_>, PageFault>, mut waiting: Option<usize>) {
        let index = self.index;
        let page = match page {
            Ok(page) => page,
            Err(PageFault::Reclaimed) => {
                // Entries outlive their zones. Only a zone that was reclaimed during the search may have held the record.
                let now = index.counters.zones_reclaimed.get();
                while let Some(i) = self.next_of(&mut waiting) {
                    if self.searches[i].reclaimed != now { self.start_over(i) } else { self.go_on(i) }
                }
                return;
            }
            Err(fault) => {
                self.failure = self.failure.take().or(Some(index.page_error(number, fault)));
                return;
            }
        };
        while let Some(i) = self.next_of(&mut waiting) {
            let search = &mut self.searches[i];
            let Some(record) = page.find(&search.name) else {
                self.go_on(i);
                continue;
            };
            let is_wanted = self.wants_values && record.value_bytes.is_some();
            let missing_bytes = if is_wanted { record.missing_bytes() } else { 0 };
            if missing_bytes > 0 {
                let key_bytes = record.key_bytes.saturating_sub(record.here.len());
                self.begun.push(Begun { search: i, key_bytes, missing_bytes });
            }
            let value_here = if is_wanted { record.here.get(record.key_bytes..) } else { None };
            let value = self.memory.copied(value_here.unwrap_or_default(), missing_bytes);
            let value = match record.value_bytes.map(|_| value).transpose() {
                Ok(value) => value,
                Err(error) => {
                    self.failure = Some(error);
                    return;
                }
            };
            let has_all = search.known.part.is_none() && !search.known.has_older;
            let older_pages = has_all.then(|| std::mem::take(&mut search.pages));
            search.found = Some(Found { page: number, offset: record.offset, value, older_pages });
        }
        index.counters.page_reads.add(1);
    }

    /// Reads the rest of the values that end in later pages. A search restarts if that fails.
    fn finish_values(&mut self) {
        for Begun { search: i, key_bytes, missing_bytes } in std::mem::take(&mut self.begun) {
            let Some(found) = &mut self.searches[i].found else { continue };
            let Some(value) = &mut found.value else { continue };
            match self.index.log.read_rest(found.page + 1, missing_bytes, value) {
                // Without the end of the key, if that was missing too: then nothing of the value was there.
                Ok(()) => drop(value.drain(..key_bytes)),
                Err(fault) => {
                    if !matches!(fault, PageFault::Reclaimed) {
                        let error = self.index.page_error(found.page, fault);
                        self.failure = self.failure.take().or(Some(error));
                    }
                    self.searches[i].found = None;
                    self.start_over(i);
                }
            }
        }
    }
}

impl ReadPlan for Searches<'_, '_> {
    fn next_read(&mut self) -> Option<PlannedRead> {
        while self.failure.is_none() {
            let Some(tag) = self.queue.pop_front() else {
                let first = self.started;
                self.started = (first + STARTED_KEYS).min(self.searches.len());
                if first == self.started {
                    return None;
                }
                self.start(first..self.started);
                continue;
            };
            match self.reads[tag].0 {
                Target::Bucket(BucketPart { bucket, first, end }) => {
                    self.index.counters.bucket_reads.add(1);
                    let span = self.index.span_of(bucket, first.into()..end.into());
                    return Some(PlannedRead { tag, is_other: false, span });
                }
                Target::Page(page) => match self.index.log.place(page) {
                    PagePlace::Device(span) => return Some(PlannedRead { tag, is_other: true, span }),
                    PagePlace::Memory(bytes) => {
                        self.arrived(tag, Ok(&bytes));
                    }
                    PagePlace::Gone => {
                        let waiting = self.take_waiting(tag);
                        self.page_arrived(page, Err(PageFault::Reclaimed), waiting);
                    }
                },
            }
        }
        None
    }

    fn arrived(&mut self, tag: usize, bytes: io::Result<&[u8]>) {
        let waiting = self.take_waiting(tag);
        match self.reads[tag].0 {
            Target::Bucket(part) => self.bucket_arrived(part, bytes, waiting),
            Target::Page(number) => {
                let page =
                    bytes.map_err(PageFault::Device).and_then(|bytes| self.index.log.checked(number, bytes));
                self.page_arrived(number, page, waiting);
            }
        }
    }
}
