//! Scans of the log that find the live records. Iteration, reclaiming and rebuilding use them.

use crate::lookup::{BATCH_KEYS, Found};
use crate::record::{KeyName, Page};
use crate::record_log::RUN_PAGES;
use crate::store::FlashIndex;
use springbloom_page_device::{AnswerMemory, FlashError, Watch};

/// The newest record of a key.
#[derive(Debug)]
pub(crate) struct LiveRecord {
    pub(crate) key: Vec<u8>,
    /// `None` for a tombstone.
    pub(crate) value: Option<Vec<u8>>,
    /// For a tombstone: pages that may hold older records of its key. `None` if the bucket was not searched.
    pub(crate) older_pages: Option<Vec<u64>>,
}

/// A key with its value.
pub type Pair = (Vec<u8>, Vec<u8>);

/// How far a scan has come. See [`FlashIndex::scan`].
#[derive(Debug)]
pub struct Scan {
    page: u64,
    /// Records appended when the scan started.
    appended: u64,
}

impl FlashIndex {
    /// Calls `visit` with every live record that begins in the pages from `first_page` to before `end_page`, all of one zone, in order.
    /// Cost: reads the pages in sequence, and looks up each record, in batches. Tells `watch` the pages.
    pub(crate) fn live_records(
        &self,
        first_page: u64,
        end_page: u64,
        watch: &mut Watch<'_>,
        visit: &mut dyn FnMut(LiveRecord, &mut Watch<'_>) -> Result<(), FlashError>,
    ) -> Result<(), FlashError> {
        self.each_run(first_page, end_page, &mut |pages| {
            let records: Vec<_> =
                pages.iter().flat_map(|page| page.records().map(|record| (page.head.page, record))).collect();
            for records in records.chunks(BATCH_KEYS) {
                let names: Vec<KeyName<'_>> = records.iter().map(|(_, record)| record.name).collect();
                for ((number, record), found) in records.iter().zip(self.search_names(&names, false)?) {
                    let is_newest = |found: &Found| (found.page, found.offset) == (*number, record.offset);
                    let Some(found) = found.filter(is_newest) else { continue };
                    let whole = self.log.read_whole(*number, record);
                    let (key, value) = whole.map_err(|fault| self.page_error(*number, fault))?;
                    visit(LiveRecord { key, value, older_pages: found.older_pages }, watch)?;
                }
            }
            watch.advance(pages.len() as u64)
        })
    }

    /// Calls `visit` with runs of the pages from `first_page` to before `end_page`, all of one zone, in sequence.
    pub(crate) fn each_run(
        &self,
        first_page: u64,
        end_page: u64,
        visit: &mut dyn FnMut(&[Page<'_>]) -> Result<(), FlashError>,
    ) -> Result<(), FlashError> {
        self.log.each_run(first_page, end_page, &mut |first, pages| {
            let pages = pages.into_iter().zip(first..);
            let sound = pages.map(|(page, number)| page.map_err(|fault| self.page_error(number, fault)));
            visit(&sound.collect::<Result<Vec<_>, _>>()?)
        })
    }

    /// Starts a scan of all keys with their values. See [`FlashIndex::scan_on`].
    pub fn scan(&self) -> Scan {
        Scan { page: 0, appended: self.writer.lock().appended }
    }

    /// The next keys with their values, in no particular order: those of up to 64 pages of the log, which may be none. `None` at the end.
    ///
    /// Errors: [`FlashError::Changed`] if something was put or deleted since the scan started. Between two calls nobody waits. Cost: reads
    /// the log in sequence, and looks up each record, in batches.
    pub fn scan_on(&self, scan: &mut Scan) -> Result<Option<Vec<Pair>>, FlashError> {
        let writer = self.writer.lock();
        if writer.appended != scan.appended {
            return Err(FlashError::Changed { name: self.storage.describe("") });
        }
        let mut zones = self.zone_pages().into_iter();
        let Some((first, end)) = zones.find(|(_, end)| *end > scan.page) else { return Ok(None) };
        let first = first.max(scan.page);
        scan.page = end.min(first + RUN_PAGES);
        // For what this step finds and returns.
        AnswerMemory::new(BATCH_KEYS)?;
        let mut pairs = Vec::new();
        self.live_records(first, scan.page, &mut Watch::none(), &mut |record, _| {
            pairs.extend(record.value.map(|value| (record.key, value)));
            Ok(())
        })?;
        Ok(Some(pairs))
    }

    /// The pages of each zone that hold records: the first, and the one after the last.
    pub(crate) fn zone_pages(&self) -> Vec<(u64, u64)> {
        let newest = self.log.page_behind();
        let zones = self.log.zones.read();
        let range = |zone: &u64| (zones.first_page(*zone), zones.first_page(zone + 1).min(newest));
        zones.live.keys().map(range).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;
    use crate::{IndexMemory, IndexSettings};
    use springbloom_flash_testkit::{SimPower, SimStorage};

    #[test]
    fn a_scan_in_steps_finds_each_key_once_and_ends_when_the_index_changes() {
        let storage = Arc::new(SimStorage::new(SimPower::steady()));
        let settings = IndexSettings { zone_pages: 32, ..IndexSettings::new(0) };
        let index = FlashIndex::create_in(storage, settings, IndexMemory::standard(), 1).unwrap();
        let mut expected = BTreeMap::new();
        for n in 0..9000u32 {
            let (key, value) = ((n % 6000).to_le_bytes(), [n.to_le_bytes(); 10].concat());
            index.put(&key, &value).unwrap();
            expected.insert(key.to_vec(), value);
        }
        index.delete(&7u32.to_le_bytes()).unwrap();
        expected.remove(&7u32.to_le_bytes()[..]);
        let (mut scan, mut found, mut steps) = (index.scan(), BTreeMap::new(), 0);
        while let Some(pairs) = index.scan_on(&mut scan).unwrap() {
            steps += 1;
            for (key, value) in pairs {
                assert!(found.insert(key, value).is_none(), "a key came twice");
            }
        }
        assert!(steps > 1 && found == expected);
        let mut scan = index.scan();
        index.put(b"key", b"value").unwrap();
        assert!(matches!(index.scan_on(&mut scan), Err(FlashError::Changed { .. })));
    }
}
