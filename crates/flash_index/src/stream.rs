//! Looking up keys in about the order in which they were put, as a backup of a tree that was backed up before does.
//!
//! Records lie in the log in the order of their arrival. Where several keys of a batch are found close together, the *chapter*
//! around them, a run of pages, is read and kept for the keys to come: these are answered without reading their buckets. The
//! price is that an answer may come from a record that has been replaced, so this is for keys that are put once.

use std::collections::{HashMap, VecDeque};

use springbloom_filter::KeyDigest;

use crate::lookup::Found;
use crate::record::{INDEX_PAGE_BYTES, Page, Value};
use crate::store::FlashIndex;
use springbloom_page_device::AlignedBuf;
use springbloom_page_device::FlashError;

/// Pages of a chapter: about a thousand records of 64 bytes.
const CHAPTER_PAGES: u64 = 16;
/// Keys of a batch that must be found in one chapter before it is read.
const FOUND_MIN: usize = 3;
/// Keys looked up in their buckets before the rest of a batch is looked for in chapters again; grows while that finds nothing, to keep the
/// device busy.
const PROBES_MIN: usize = 32;
const PROBES_MAX: usize = 1024;

/// A run of records, in memory.
struct Chapter {
    first_page: u64,
    /// Keys and values, one after the other.
    bytes: Vec<u8>,
    /// By digest: where key and value begin, and the lengths of both.
    places: Vec<(u64, u32, u8, u32)>,
}

impl Chapter {
    fn new<'p>(first_page: u64, pages: impl Iterator<Item = Page<'p>>) -> Chapter {
        let mut chapter = Chapter { first_page, bytes: Vec::new(), places: Vec::new() };
        for record in pages.flat_map(|page| page.records()) {
            // Tombstones and values that go on elsewhere are left to the index.
            if let Value::Whole(value) = record.value {
                let digest = KeyDigest::of(record.key).lo;
                let place = (digest, chapter.bytes.len() as u32, record.key.len() as u8, value.len() as u32);
                chapter.places.push(place);
                chapter.bytes.extend_from_slice(record.key);
                chapter.bytes.extend_from_slice(value);
            }
        }
        chapter.bytes.shrink_to_fit();
        chapter.places.sort_unstable();
        chapter
    }

    fn get(&self, key: &[u8], digest: u64) -> Option<&[u8]> {
        let from = self.places.partition_point(|place| place.0 < digest);
        self.places[from..].iter().take_while(|place| place.0 == digest).find_map(
            |&(_, at, key_len, value_len)| {
                let value_at = at as usize + usize::from(key_len);
                (&self.bytes[at as usize..value_at] == key)
                    .then(|| &self.bytes[value_at..value_at + value_len as usize])
            },
        )
    }
}

/// Looks up the keys of one stream; see the module. Each stream has its own.
pub struct StreamLookup<'i> {
    index: &'i FlashIndex,
    chapters_max: usize,
    /// Most recently used first.
    chapters: VecDeque<Chapter>,
}

impl FlashIndex {
    /// Lookups of keys that were put once and in about the order in which they are looked up, with `chapters_max` runs of records kept
    /// in memory (some 80 KiB each; 16 are plenty).
    pub fn stream(&self, chapters_max: usize) -> StreamLookup<'_> {
        StreamLookup { index: self, chapters_max: chapters_max.max(1), chapters: VecDeque::new() }
    }
}

impl StreamLookup<'_> {
    /// As [`FlashIndex::get_many`], for keys that are never put again or deleted: the value of one that is may be an older one.
    ///
    /// Cost: in a part of the stream that was put before, about a read per 30 keys.
    pub fn get_many(&mut self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, FlashError> {
        let mut values: Vec<Option<Vec<u8>>> = vec![None; keys.len()];
        let mut left: Vec<usize> = (0..keys.len()).collect();
        let mut probes = PROBES_MIN;
        while !left.is_empty() {
            left.retain(|&i| {
                values[i] = self.get_kept(keys[i]);
                values[i].is_none()
            });
            let some: Vec<usize> = left.drain(..probes.min(left.len())).collect();
            let wanted: Vec<&[u8]> = some.iter().map(|&i| keys[i]).collect();
            let found = self.index.search(&wanted, true)?;
            let has_read = self.read_chapters(&found)?;
            for (i, found) in some.into_iter().zip(found) {
                values[i] = found.and_then(|found| found.value);
            }
            probes = if has_read { PROBES_MIN } else { (probes * 4).min(PROBES_MAX) };
        }
        self.index.counters.lookups.add(keys.len() as u64);
        Ok(values)
    }

    fn get_kept(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        let digest = KeyDigest::of(key).lo;
        let (at, value) =
            self.chapters.iter().enumerate().find_map(|(at, c)| Some((at, c.get(key, digest)?.to_vec())))?;
        if at > 0 {
            let used = self.chapters.remove(at)?;
            self.chapters.push_front(used);
        }
        self.index.counters.locality_hits.add(1);
        Some(value)
    }

    /// Reads the chapters in which several of `found` are; whether there were any.
    fn read_chapters(&mut self, found: &[Option<Found>]) -> Result<bool, FlashError> {
        let mut counts: HashMap<(u64, u64), usize> = HashMap::new();
        for found in found.iter().flatten() {
            if let Some(range) = self.chapter_of(found.page) {
                *counts.entry(range).or_default() += 1;
            }
        }
        let mut wanted: Vec<(u64, u64)> = counts
            .into_iter()
            .filter(|((first, _), count)| {
                *count >= FOUND_MIN && self.chapters.iter().all(|chapter| chapter.first_page != *first)
            })
            .map(|(range, _)| range)
            .collect();
        wanted.sort_unstable();
        for &(first, end) in &wanted {
            let mut buf = AlignedBuf::new((end - first) as usize * INDEX_PAGE_BYTES);
            // A zone that has gone away meanwhile is no loss: the index has answered already.
            let Ok(pages) = self.index.log.read_run(first, &mut buf) else { continue };
            self.chapters.truncate(self.chapters_max - 1);
            self.chapters.push_front(Chapter::new(first, pages.into_iter()));
            self.index.counters.chapter_reads.add(1);
        }
        Ok(!wanted.is_empty())
    }

    /// The pages of the chapter around `page`, as far as they are complete.
    fn chapter_of(&self, page: u64) -> Option<(u64, u64)> {
        let newest = self.index.log.newest_page();
        let zones = self.index.log.zones();
        let (zone_first, zone_end) =
            (zones.first_page(zones.zone_of(page)), zones.first_page(zones.zone_of(page) + 1));
        let first = zone_first + (page - zone_first) / CHAPTER_PAGES * CHAPTER_PAGES;
        let end = (first + CHAPTER_PAGES).min(zone_end);
        (end <= newest).then_some((first, end))
    }
}
