//! Reclaims zones whose records are mostly stale. Invariants: a zone is reclaimed only after each of its live records has been appended
//! again. Its slot is reused only after a checkpoint has made that durable.

use crate::scan::LiveRecord;
use crate::store::FlashIndex;
use crate::writer::Writer;
use springbloom_page_device::{FlashError, Watch};

/// Stale share at which a zone is reclaimed automatically. At most one byte is moved per byte gained.
const STALE_SHARE: f64 = 0.5;
/// Stale share at which [`FlashIndex::compact`] reclaims. Up to nine bytes are moved per byte gained.
const STALE_SHARE_COMPACT: f64 = 0.1;
/// Most zones reclaimed after a round of flushes, so that no put waits for long.
const ZONES_PER_ROUND: usize = 4;

/// Result of [`FlashIndex::compact`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactReport {
    /// Zones whose space is free for new records.
    pub zones_reclaimed: u64,
    /// Records that were appended again.
    pub records_moved: u64,
}

impl FlashIndex {
    /// Flushes all pending entries and reclaims every zone of which at least a tenth is stale. Durable on return. Files do not shrink;
    /// later records reuse the space. Cost: reads each reclaimed zone, and writes its live records again.
    ///
    /// `watch` is told the partitions that are flushed and the pages that are read. If it ends early, nothing is lost, zones that were
    /// reclaimed stay so, and a call again goes on.
    pub fn compact(&self, watch: &mut Watch<'_>) -> Result<CompactReport, FlashError> {
        let before = self.stats();
        let mut writer = self.writer.lock();
        let pages = |zones: &[u64]| zones.len() as u64 * u64::from(self.settings.zone_pages);
        let expected = pages(&self.stale_zones(&writer, STALE_SHARE_COMPACT));
        watch.expect(expected);
        // The first call ends the current round. The second round starts with no pending entries, so recovery needs no earlier page.
        self.flush_round(&mut writer, watch)?;
        self.flush_round(&mut writer, watch)?;
        let stale = self.stale_zones(&writer, STALE_SHARE_COMPACT);
        watch.expect(pages(&stale).saturating_sub(expected));
        for zone in stale {
            self.reclaim(&mut writer, zone, watch)?;
        }
        self.checkpoint(&mut writer, false)?;
        let after = self.stats();
        Ok(CompactReport {
            zones_reclaimed: after.zones_reclaimed - before.zones_reclaimed,
            records_moved: after.records_moved - before.records_moved,
        })
    }

    /// Reclaims the stalest zones after a round, if at least half of each is stale.
    pub(crate) fn reclaim_stale_zones(
        &self,
        writer: &mut Writer,
        watch: &mut Watch<'_>,
    ) -> Result<(), FlashError> {
        if writer.is_reclaiming {
            return Ok(());
        }
        for zone in self.stale_zones(writer, STALE_SHARE).into_iter().take(ZONES_PER_ROUND) {
            self.reclaim(writer, zone, watch)?;
        }
        Ok(())
    }

    /// The zones of which at least `share` is stale, stalest first. Excludes zones that recovery would replay.
    fn stale_zones(&self, writer: &Writer, share: f64) -> Vec<u64> {
        let zones = self.log.zones.read();
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

    fn reclaim(&self, writer: &mut Writer, zone: u64, watch: &mut Watch<'_>) -> Result<(), FlashError> {
        let (first, end, records) = {
            let zones = self.log.zones.read();
            (zones.first_page(zone), zones.first_page(zone + 1), zones.live[&zone].records)
        };
        writer.is_reclaiming = true;
        let moved = self
            .live_records(first, end, watch, &mut |record, watch| self.keep(writer, zone, &record, watch));
        writer.is_reclaiming = false;
        moved?;
        // The counter changes first, so that a search that misses the zone sees a changed counter.
        self.counters.zones_reclaimed.add(1);
        self.log.zones.write().reclaim(zone);
        writer.records = writer.records.saturating_sub(u64::from(records));
        Ok(())
    }

    /// Appends a live record of a zone being reclaimed again. Drops tombstones that hide no older record.
    fn keep(
        &self,
        writer: &mut Writer,
        zone: u64,
        record: &LiveRecord,
        watch: &mut Watch<'_>,
    ) -> Result<(), FlashError> {
        if record.value.is_none() && !self.hides_something(zone, record) {
            return Ok(());
        }
        self.counters.records_moved.add(1);
        let page = self.append(writer, &record.key, record.value.as_deref(), watch)?;
        if record.value.is_none() {
            self.log.zones.write().count_stale(page);
        }
        Ok(())
    }

    /// Whether another zone may hold an older record of the tombstone's key.
    fn hides_something(&self, zone: u64, tombstone: &LiveRecord) -> bool {
        let zones = self.log.zones.read();
        let stays = |page: &u64| zones.zone_of(*page) != zone && zones.device_page(*page).is_some();
        tombstone.older_pages.as_ref().is_none_or(|pages| pages.iter().any(stays))
    }
}
