//! Lookups of keys in about the order in which they were put, as when a tree is backed up again. Source: locality-preserved caching (Zhu,
//! Li, Patterson, FAST 2008).
//!
//! The log holds records in the order of arrival. Where several keys of a batch are found close together, the run of pages around them is
//! read and kept as a *readahead window*. Later keys are answered from the windows without reading their buckets. An answer may come from a
//! record that has been replaced, so use this only for keys that are put once.

use std::collections::{HashMap, VecDeque};

use springbloom_filter::KeyDigest;

use crate::lookup::Found;
use crate::record::{INDEX_PAGE_BYTES, KeyName, Page};
use crate::store::FlashIndex;
use springbloom_page_device::{AlignedBuf, FlashError};

/// Pages of a window: about a thousand records of 64 bytes.
const WINDOW_PAGES: u64 = 16;
/// Keys of a batch that must be found in one window before it is read.
const FOUND_MIN: usize = 3;
/// Keys looked up in their buckets before the rest of a batch is searched for in the windows again. Doubles while no window is read, to
/// keep the device busy.
const PROBES_MIN: usize = 32;
const PROBES_MAX: usize = 1024;

/// A run of records in memory.
struct ReadaheadWindow {
    first_page: u64,
    /// Keys and values, concatenated.
    bytes: Vec<u8>,
    /// Digest, offset, key length and value length of each record, ordered by digest.
    places: Vec<(u64, u32, u8, u32)>,
}

impl ReadaheadWindow {
    fn new<'p>(first_page: u64, pages: impl Iterator<Item = Page<'p>>) -> ReadaheadWindow {
        let mut window = ReadaheadWindow { first_page, bytes: Vec::new(), places: Vec::new() };
        for record in pages.flat_map(|page| page.records()) {
            // Lookups of tombstones, of long keys and of values that continue in another page go to the index.
            if let (KeyName::Short(key), Some(value)) = (record.name, record.whole_value()) {
                let digest = KeyDigest::of(key).lo;
                let place = (digest, window.bytes.len() as u32, key.len() as u8, value.len() as u32);
                window.places.push(place);
                window.bytes.extend_from_slice(key);
                window.bytes.extend_from_slice(value);
            }
        }
        window.bytes.shrink_to_fit();
        window.places.sort_unstable();
        window
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

/// Lookups of one stream of keys, with readahead windows of its own. See [`FlashIndex::stream`].
pub struct StreamLookup<'i> {
    index: &'i FlashIndex,
    windows_max: usize,
    /// Most recently used first.
    windows: VecDeque<ReadaheadWindow>,
}

impl FlashIndex {
    /// Starts a stream of lookups of keys that were put once, in about the same order. Keeps `windows_max` readahead windows in memory, of
    /// about 80 KiB each; 16 are plenty.
    pub fn stream(&self, windows_max: usize) -> StreamLookup<'_> {
        StreamLookup { index: self, windows_max: windows_max.max(1), windows: VecDeque::new() }
    }
}

impl StreamLookup<'_> {
    /// Like [`FlashIndex::get_many`], for keys that are put once and never deleted. For other keys the value may be an older one.
    ///
    /// Cost: about one read per 30 keys where the stream repeats an earlier one.
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
            let has_read = self.read_windows(&found)?;
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
            self.windows.iter().enumerate().find_map(|(at, c)| Some((at, c.get(key, digest)?.to_vec())))?;
        if at > 0 {
            let used = self.windows.remove(at)?;
            self.windows.push_front(used);
        }
        self.index.counters.readahead_hits.add(1);
        Some(value)
    }

    /// Reads the windows that hold several of `found`. Returns whether there were any.
    fn read_windows(&mut self, found: &[Option<Found>]) -> Result<bool, FlashError> {
        let mut counts: HashMap<(u64, u64), usize> = HashMap::new();
        for found in found.iter().flatten() {
            if let Some(range) = self.window_of(found.page) {
                *counts.entry(range).or_default() += 1;
            }
        }
        let mut wanted: Vec<(u64, u64)> = counts
            .into_iter()
            .filter(|((first, _), count)| {
                *count >= FOUND_MIN && self.windows.iter().all(|window| window.first_page != *first)
            })
            .map(|(range, _)| range)
            .collect();
        wanted.sort_unstable();
        for &(first, end) in &wanted {
            let mut buf = AlignedBuf::new((end - first) as usize * INDEX_PAGE_BYTES);
            // A zone that was reclaimed meanwhile is no loss: the index has answered already.
            let pages: Result<Vec<Page<'_>>, _> =
                self.index.log.read_run(first, &mut buf).into_iter().collect();
            let Ok(pages) = pages else { continue };
            self.windows.truncate(self.windows_max - 1);
            self.windows.push_front(ReadaheadWindow::new(first, pages.into_iter()));
            self.index.counters.readahead_reads.add(1);
        }
        Ok(!wanted.is_empty())
    }

    /// The full pages of the window around `page`.
    fn window_of(&self, page: u64) -> Option<(u64, u64)> {
        let newest = self.index.log.newest_page();
        let zones = self.index.log.zones.read();
        let (zone_first, zone_end) =
            (zones.first_page(zones.zone_of(page)), zones.first_page(zones.zone_of(page) + 1));
        let first = zone_first + (page - zone_first) / WINDOW_PAGES * WINDOW_PAGES;
        let end = (first + WINDOW_PAGES).min(zone_end);
        (end <= newest).then_some((first, end))
    }
}
