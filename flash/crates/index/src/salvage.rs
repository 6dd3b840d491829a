//! Makes a new index from the readable part of a damaged one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use springbloom_page_device::{
    Access, AlignedBuf, FileStorage, FlashError, NamedDevice, PageDevice, Storage, u64_at,
};

use crate::commits::{Commits, LogEnd};
use crate::manifest::Manifest;
use crate::manifest::Zone;
use crate::record::{INDEX_PAGE_BYTES, Page, PageHead};
use crate::record_log::{PageFault, RecordLog};
use crate::settings::{IndexMemory, IndexSettings};
use crate::store::{FlashIndex, LOG_NAME};
use crate::zones::Zones;

/// Result of [`FlashIndex::salvage`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SalvageReport {
    /// Records put into the new index, tombstones and replaced records included.
    pub records: u64,
    /// Records that begin in a readable page and continue in a damaged one.
    pub broken_records: u64,
    /// Damaged pages. Their records are lost.
    pub damaged_pages: u64,
    /// The write-ahead log is unreadable. Records of the last, partly filled page are lost. Some records that were never acknowledged may
    /// be present.
    pub lost_log: bool,
    /// No manifest that belongs to the log is readable. Deleted keys may be present again.
    pub lost_manifest: bool,
}

impl SalvageReport {
    /// Whether an acknowledged record may be missing, or a deleted one present.
    pub fn has_losses(&self) -> bool {
        self.broken_records + self.damaged_pages > 0 || self.lost_log || self.lost_manifest
    }
}

/// The known state of the damaged index.
struct Known {
    salt: u64,
    settings: IndexSettings,
    zones: Zones,
    /// End of its log, if known.
    end: Option<LogEnd>,
}

impl FlashIndex {
    /// Makes an index in `to` of every readable record in the log of the index in `from`, which is not changed. `to` must be empty or
    /// absent. If the newest record of a key is lost, the key has an older value or none. If a deletion is lost, the key may be present
    /// again.
    pub fn salvage(from: &Path, to: &Path) -> Result<SalvageReport, FlashError> {
        let from = FileStorage::shared(from, Access::Read)?;
        FileStorage::make(to, |to| FlashIndex::salvage_in(&from, to, rand::random()))
    }

    /// Like [`salvage`](Self::salvage), in any storages.
    pub fn salvage_in(
        from: &Arc<dyn Storage>,
        to: Arc<dyn Storage>,
        salt: u64,
    ) -> Result<SalvageReport, FlashError> {
        let device = NamedDevice::open(&**from, LOG_NAME)?;
        let mut report = SalvageReport::default();
        let known = what_is_known(from, &*device, &mut report)?;
        let pages_end = known.end.as_ref().map(LogEnd::page_behind);
        let end = known.end.unwrap_or_else(|| LogEnd::at(u64::MAX));
        let log = RecordLog::new(device, known.salt, 0, known.zones, &end);
        let index = FlashIndex::create_in(to, known.settings, IndexMemory::standard(), salt)?;
        let zones: Vec<u64> = log.zones.read().live.keys().copied().collect();
        for zone in zones {
            let (first, mut behind) =
                (log.zones.read().first_page(zone), log.zones.read().first_page(zone + 1));
            behind = pages_end.map_or(behind, |end| behind.min(end));
            salvage_pages(&log, first, behind, &index, &mut report, pages_end.is_some())?;
        }
        index.close()?;
        Ok(report)
    }
}

/// Reads the write-ahead log and the manifest that it names, as far as possible.
fn what_is_known(
    from: &Arc<dyn Storage>,
    device: &dyn PageDevice,
    report: &mut SalvageReport,
) -> Result<Known, FlashError> {
    let commits = match Commits::open(from) {
        Err(error @ FlashError::WrongKind { .. }) => return Err(error),
        Err(error) if error.is_other_version() => return Err(error),
        opened => opened.ok().map(|commits| (commits.salt(), commits.acknowledged())),
    };
    report.lost_log = commits.is_none();
    let in_force = match &commits {
        Some((salt, acknowledged)) => match Manifest::read(&**from, *salt, acknowledged.sequence) {
            Err(error) if error.is_other_version() => return Err(error),
            read => read.ok(),
        },
        None => Manifest::newest(&**from)?,
    };
    report.lost_manifest = in_force.is_none();
    if let Some(manifest) = in_force {
        let zones = match &commits {
            Some((_, acknowledged)) => Zones::restored_to(&manifest, acknowledged.end.page_behind()),
            // The zones opened since the manifest was written follow from it. The pages tell how many there are.
            None => with_zones_found(&manifest, device),
        };
        let end = commits.map(|(_, acknowledged)| acknowledged.end);
        return Ok(Known { salt: manifest.salt, settings: manifest.settings, zones, end });
    }
    let Some((salt, acknowledged)) = commits else {
        let got = "neither a write-ahead log nor a manifest that can be read";
        let expected = "one of them: without its salt, no page can be told from damage";
        return Err(FlashError::damaged(&from.describe(""), "the index", got, expected));
    };
    // Zones have the size given by the last readable manifest, or the size that fits the pages found.
    let older = Manifest::newest(&**from)?.filter(|manifest| manifest.salt == salt);
    let settings = older.map_or_else(|| IndexSettings::new(0), |manifest| manifest.settings);
    let zones = zones_of_pages(device, salt, settings.zone_pages);
    Ok(Known { salt, settings, zones, end: Some(acknowledged.end) })
}

/// The zones of `manifest`, and those whose pages are found in the slots that come next.
fn with_zones_found(manifest: &Manifest, device: &dyn PageDevice) -> Zones {
    let mut zones = Zones::restored(manifest);
    let mut next = zones.zone_of(manifest.counted_page);
    loop {
        let before = zones.clone();
        zones.open(next);
        let first = zones.first_page(next);
        let has_pages = (first..first + u64::from(zones.zone_pages)).any(|page| {
            let at = zones.device_page(page).unwrap_or_default() * INDEX_PAGE_BYTES as u64;
            page_at(device, manifest.salt, at).is_some_and(|head| head.page == page)
        });
        if !has_pages && next > zones.zone_of(manifest.counted_page) {
            return before;
        }
        next += 1;
    }
}

/// The zone in each slot of the device: the newest one with pages there.
fn zones_of_pages(device: &dyn PageDevice, salt: u64, zone_pages: u32) -> Zones {
    let slots = (device.len_bytes() / (u64::from(zone_pages) * INDEX_PAGE_BYTES as u64)) as u32;
    let mut zones = Zones::empty(zone_pages, slots);
    let mut newest: BTreeMap<u64, (u32, u32)> = BTreeMap::new();
    for slot in 0..slots {
        for n in 0..u64::from(zone_pages) {
            let at = (u64::from(slot) * u64::from(zone_pages) + n) * INDEX_PAGE_BYTES as u64;
            let Some(head) = page_at(device, salt, at) else { continue };
            let zone = zones.zone_of(head.page);
            if head.page % u64::from(zone_pages) == n
                && newest.get(&zone).is_none_or(|(epoch, _)| head.epoch >= *epoch)
            {
                newest.insert(zone, (head.epoch, slot));
            }
        }
    }
    // A slot belongs to the newest zone that has pages in it.
    let mut owner: BTreeMap<u32, u64> = BTreeMap::new();
    newest.iter().for_each(|(zone, (_, slot))| {
        owner.insert(*slot, *zone);
    });
    zones.live = owner.into_iter().map(|(slot, zone)| (zone, Zone { slot, records: 0, stale: 0 })).collect();
    zones
}

/// The head of the page at this offset, if it is valid.
fn page_at(device: &dyn PageDevice, salt: u64, offset: u64) -> Option<PageHead> {
    let mut bytes = AlignedBuf::new(INDEX_PAGE_BYTES);
    device.read_at(offset, &mut bytes).ok()?;
    let page = u64_at(&bytes, 8);
    Page::open(salt, page, &bytes).map(|page| page.head)
}

/// Puts the records of the pages from `first` to before `behind`, all of one zone.
fn salvage_pages(
    log: &RecordLog,
    first: u64,
    behind: u64,
    index: &FlashIndex,
    report: &mut SalvageReport,
    end_is_known: bool,
) -> Result<(), FlashError> {
    let mut unread = 0;
    log.each_run(first, behind, &mut |first, pages| {
        for (page, number) in pages.into_iter().zip(first..) {
            let Ok(page) = page else {
                unread += 1;
                continue;
            };
            report.damaged_pages += std::mem::take(&mut unread);
            for record in page.records() {
                let (key, value) = match log.read_whole(number, &record) {
                    Ok(whole) => whole,
                    Err(PageFault::Device(e)) => return Err(log.device.error("read")(e)),
                    Err(_) => {
                        report.broken_records += 1;
                        continue;
                    }
                };
                report.records += 1;
                value.map_or_else(|| index.delete(&key), |value| index.put(&key, &value))?;
            }
        }
        Ok(())
    })?;
    // If the end of the log is unknown, pages after the last readable one were never written.
    report.damaged_pages += if end_is_known { unread } else { 0 };
    Ok(())
}
