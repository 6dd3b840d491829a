//! Makes a new index of what can still be read of a damaged one.

use std::path::Path;
use std::sync::Arc;

use super::lookup::value_of;
use super::manifest::Manifest;
use super::record_log::{PageFault, RecordLog};
use super::settings::IndexMemory;
use super::store::{FlashIndex, LOG_NAME, file_storage};
use super::zones::Zones;
use crate::device::Storage;
use crate::error::FlashError;

/// Pages read in one batch.
const BATCH_PAGES: usize = 256;

/// What [`FlashIndex::salvage`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SalvageReport {
    /// Records that were put into the new index, tombstones and replaced ones included.
    pub records: u64,
    /// Records that begin in a page that can be read and go on in one that cannot.
    pub broken_records: u64,
    /// Pages that cannot be read; their records are lost. What was never written at the end of the log is not among them.
    pub damaged_pages: u64,
}

impl FlashIndex {
    /// Makes an index in `to`, which must hold none, of every record that can be read in the log of the one in `from`, which is
    /// left as it is. Needs one of its two manifests. A key whose newest record is lost has an older value, or none; a key whose deletion is
    /// lost may be back.
    pub fn salvage(from: &Path, to: &Path) -> Result<SalvageReport, FlashError> {
        let (from, to) = (file_storage(from, false)?, file_storage(to, true)?);
        FlashIndex::salvage_in(&*from, to, rand::random())
    }

    /// As [`salvage`](Self::salvage), in any storages.
    pub fn salvage_in(
        from: &dyn Storage,
        to: Arc<dyn Storage>,
        salt: u64,
    ) -> Result<SalvageReport, FlashError> {
        let manifest = Manifest::read(from)?;
        let name = from.describe(LOG_NAME);
        let device = from.open(LOG_NAME).map_err(FlashError::io("open", &name))?;
        let log = RecordLog::new(device, name, manifest.salt, 0, Zones::restored(&manifest), u64::MAX);
        let index = FlashIndex::create_in(to, manifest.settings, IndexMemory::standard(), salt)?;
        let mut report = SalvageReport::default();
        let mut epoch = 0;
        let mut zones: Vec<u64> = log.zones().live.keys().copied().collect();
        let mut next = zones.last().map_or(0, |zone| zone + 1);
        // Zones opened since the manifest was written follow from it; the first of them without a page is none.
        while let Some(zone) = zones.first().copied() {
            zones.remove(0);
            let has_pages = salvage_zone(&log, zone, &index, &mut epoch, &mut report)?;
            if zones.is_empty() && has_pages {
                log.zones_mut().open(next);
                zones.push(next);
                next += 1;
            }
        }
        index.close()?;
        Ok(report)
    }
}

/// A record's key, its value as far as it is in the first page, and the bytes that are not.
type Taken = (Vec<u8>, Option<Vec<u8>>, usize);

/// Puts the records of one zone; whether any of its pages could be read.
fn salvage_zone(
    log: &RecordLog,
    zone: u64,
    index: &FlashIndex,
    epoch: &mut u32,
    report: &mut SalvageReport,
) -> Result<bool, FlashError> {
    let (first, end) = (log.zones().first_page(zone), log.zones().first_page(zone + 1));
    let pages: Vec<u64> = (first..end).collect();
    let (mut has_pages, mut unread) = (false, 0);
    for batch in pages.chunks(BATCH_PAGES) {
        // Reads arrive in any order; records must be put in theirs.
        let mut found: Vec<Vec<Taken>> = batch.iter().map(|_| Vec::new()).collect();
        let mut epochs = vec![None; batch.len()];
        log.read_each(batch, &mut |n, page| {
            let Ok(page) = page else { return };
            epochs[n] = Some(page.head.epoch);
            found[n] = page
                .records()
                .map(|record| {
                    let (value, missing_bytes) = value_of(&record, true);
                    (record.key.to_vec(), value, missing_bytes)
                })
                .collect();
        });
        for ((page, records), page_epoch) in batch.iter().zip(found).zip(epochs) {
            let Some(page_epoch) = page_epoch.filter(|page_epoch| *page_epoch >= *epoch) else {
                unread += 1;
                continue;
            };
            // Only a page with pages behind it was lost; the others were never written.
            report.damaged_pages += std::mem::take(&mut unread);
            (*epoch, has_pages) = (page_epoch, true);
            for (key, mut value, missing_bytes) in records {
                if let Some(value) = value.as_mut().filter(|_| missing_bytes > 0) {
                    match log.read_rest(page + 1, missing_bytes, value) {
                        Ok(()) => {}
                        Err(PageFault::Device(e)) => return Err(FlashError::io("read", log.name())(e)),
                        Err(_) => {
                            report.broken_records += 1;
                            continue;
                        }
                    }
                }
                report.records += 1;
                match value {
                    Some(value) => index.put(&key, &value)?,
                    None => index.delete(&key)?,
                }
            }
        }
    }
    Ok(has_pages)
}
