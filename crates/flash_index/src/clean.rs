//! Reclaims zones whose records are mostly stale. Invariant: a zone is given up only when each of its live records has been
//! appended again; its slot is used again only after a checkpoint has made that durable.

use crate::scan::LiveRecord;
use crate::store::FlashIndex;
use crate::sweep::Writer;
use springbloom_page_device::FlashError;

/// Share of stale records from which a zone is reclaimed without being asked: at most one byte is moved per byte gained.
const STALE_SHARE: f64 = 0.5;
/// Share from which [`FlashIndex::compact`] reclaims: up to nine bytes are moved per byte gained.
const STALE_SHARE_COMPACT: f64 = 0.1;
/// Zones reclaimed after a round of sweeps at most, so that no put waits for long.
const ZONES_PER_ROUND: usize = 4;

/// What compacting did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactReport {
    /// Zones whose space is free for new records now.
    pub zones_reclaimed: u64,
    /// Records that were appended again.
    pub records_moved: u64,
}

impl FlashIndex {
    /// Moves all waiting entries to their buckets and reclaims every zone of which a tenth or more is stale. Durable on return. The space
    /// is used again by later records; files do not shrink.
    pub fn compact(&self) -> Result<CompactReport, FlashError> {
        let before = self.stats();
        let mut writer = self.writer();
        // One round to move what waits; the round after starts where nothing waits, so recovery needs no earlier page.
        while !self.sweep_batch(&mut writer)? {}
        while !self.sweep_batch(&mut writer)? {}
        for zone in self.stale_zones(&writer, STALE_SHARE_COMPACT) {
            self.reclaim(&mut writer, zone)?;
        }
        self.checkpoint(&mut writer, false)?;
        let after = self.stats();
        Ok(CompactReport {
            zones_reclaimed: after.zones_reclaimed - before.zones_reclaimed,
            records_moved: after.records_moved - before.records_moved,
        })
    }

    /// After a round: reclaims the stalest zones if half of each is stale.
    pub(crate) fn clean(&self, writer: &mut Writer) -> Result<(), FlashError> {
        if writer.is_cleaning {
            return Ok(());
        }
        for zone in self.stale_zones(writer, STALE_SHARE).into_iter().take(ZONES_PER_ROUND) {
            self.reclaim(writer, zone)?;
        }
        Ok(())
    }

    /// The zones of which at least `share` is stale, stalest first, among those that recovery does not replay.
    fn stale_zones(&self, writer: &Writer, share: f64) -> Vec<u64> {
        let zones = self.log.zones();
        let share_of = |zone: &u64| {
            let zone = &zones.live[zone];
            f64::from(zone.stale) / f64::from(zone.records.max(1))
        };
        let mut stale: Vec<u64> = zones
            .live
            .keys()
            .filter(|zone| zones.first_page(**zone + 1) <= writer.replay_page && share_of(zone) >= share)
            .copied()
            .collect();
        stale.sort_by(|a, b| share_of(b).total_cmp(&share_of(a)));
        stale
    }

    fn reclaim(&self, writer: &mut Writer, zone: u64) -> Result<(), FlashError> {
        let (first, end, records) = {
            let zones = self.log.zones();
            (zones.first_page(zone), zones.first_page(zone + 1), zones.live[&zone].records)
        };
        writer.is_cleaning = true;
        let moved = self.live_records(first, end, &mut |record| self.keep(writer, zone, &record));
        writer.is_cleaning = false;
        moved?;
        // First counted, then given up: a search that finds the zone gone must see that something changed.
        self.counters.zones_reclaimed.add(1);
        self.log.zones_mut().reclaim(zone);
        writer.records = writer.records.saturating_sub(u64::from(records));
        Ok(())
    }

    /// Appends a live record of a zone that is being reclaimed again, unless it is a tombstone of nothing.
    fn keep(&self, writer: &mut Writer, zone: u64, record: &LiveRecord) -> Result<(), FlashError> {
        if record.value.is_none() && !self.hides_something(zone, record) {
            return Ok(());
        }
        self.counters.records_moved.add(1);
        let page = self.append(writer, &record.key, record.value.as_deref())?;
        if record.value.is_none() {
            self.log.zones_mut().count_stale(page);
        }
        Ok(())
    }

    /// Whether an older record of the tombstone's key may be left when its zone is gone.
    fn hides_something(&self, zone: u64, tombstone: &LiveRecord) -> bool {
        let zones = self.log.zones();
        let stays = |page: &u64| zones.zone_of(*page) != zone && zones.device_page(*page).is_some();
        tombstone.older_pages.as_ref().is_none_or(|pages| pages.iter().any(stays))
    }
}
