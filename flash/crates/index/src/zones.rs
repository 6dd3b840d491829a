//! The zones of the log. A zone is a run of logical pages in one slot of the device, and is reclaimed as a whole.
//!
//! Invariants: logical page numbers are never reused. A freed slot is not reused before the next checkpoint, so the state of the last
//! manifest stays readable. The slot of a new zone follows from the manifest and the number of zones opened since, so recovery finds the
//! zones opened after the checkpoint.

use std::collections::{BTreeMap, VecDeque};

use crate::manifest::{Manifest, Zone};

/// All zones, by number. Zone `z` holds the pages from `z * zone_pages` on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Zones {
    pub(crate) zone_pages: u32,
    pub(crate) live: BTreeMap<u64, Zone>,
    /// Slots for the next zones, in order. When there are none, the device grows.
    pub(crate) free: VecDeque<u32>,
    pub(crate) slots: u32,
    /// Slots that become free with the next checkpoint.
    returned: Vec<u32>,
}

impl Zones {
    /// The zones of a manifest.
    pub(crate) fn restored(manifest: &Manifest) -> Zones {
        Zones {
            zone_pages: manifest.settings.zone_pages,
            live: manifest.zones.iter().copied().collect(),
            free: manifest.free_zone_slots.iter().copied().collect(),
            slots: manifest.zone_slots,
            returned: Vec::new(),
        }
    }

    /// The zones of a manifest, and those opened since for the pages before `behind`.
    pub(crate) fn restored_to(manifest: &Manifest, behind: u64) -> Zones {
        let mut zones = Zones::restored(manifest);
        if behind > manifest.counted_page {
            let opened = zones.zone_of(manifest.counted_page)..=zones.zone_of(behind - 1);
            opened.for_each(|zone| zones.open(zone));
        }
        zones
    }

    /// No zones, on a device with `slots` slots.
    pub(crate) fn empty(zone_pages: u32, slots: u32) -> Zones {
        Zones { zone_pages, live: BTreeMap::new(), free: VecDeque::new(), slots, returned: Vec::new() }
    }

    pub(crate) fn zone_of(&self, page: u64) -> u64 {
        page / u64::from(self.zone_pages)
    }

    pub(crate) fn first_page(&self, zone: u64) -> u64 {
        zone * u64::from(self.zone_pages)
    }

    pub(crate) fn begins_at(&self, page: u64) -> bool {
        page.is_multiple_of(u64::from(self.zone_pages))
    }

    /// The device page of logical page `page`. `None` if its zone was reclaimed.
    pub(crate) fn device_page(&self, page: u64) -> Option<u64> {
        let zone = self.live.get(&self.zone_of(page))?;
        Some(u64::from(zone.slot) * u64::from(self.zone_pages) + page % u64::from(self.zone_pages))
    }

    /// Pages that the device has if it has all those before logical page `end`.
    pub(crate) fn device_pages_before(&self, end: u64) -> u64 {
        let lasts = self.live.keys().filter_map(|&zone| self.first_page(zone + 1).min(end).checked_sub(1));
        lasts.filter_map(|last| self.device_page(last)).max().map_or(0, |last| last + 1)
    }

    /// Assigns a slot to `zone`, if it has none.
    pub(crate) fn open(&mut self, zone: u64) {
        if !self.live.contains_key(&zone) {
            let slot = self.free.pop_front().unwrap_or_else(|| {
                self.slots += 1;
                self.slots - 1
            });
            self.live.insert(zone, Zone { slot, records: 0, stale: 0 });
        }
    }

    /// Frees `zone`. Its slot is reusable after the next checkpoint.
    pub(crate) fn reclaim(&mut self, zone: u64) {
        if let Some(zone) = self.live.remove(&zone) {
            self.returned.push(zone.slot);
        }
    }

    /// Slots that are free once a manifest without their zones is durable.
    pub(crate) fn free_after_checkpoint(&self) -> impl Iterator<Item = u32> {
        self.free.iter().chain(&self.returned).copied()
    }

    /// Frees the returned slots. Called once a manifest of this state is durable.
    pub(crate) fn checkpointed(&mut self) {
        self.free.extend(self.returned.drain(..));
    }

    pub(crate) fn count_record(&mut self, page: u64) {
        if let Some(zone) = self.live.get_mut(&(page / u64::from(self.zone_pages))) {
            zone.records += 1;
        }
    }

    pub(crate) fn count_stale(&mut self, page: u64) {
        if let Some(zone) = self.live.get_mut(&(page / u64::from(self.zone_pages))) {
            zone.stale = (zone.stale + 1).min(zone.records);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none() -> Zones {
        let (live, free) = (BTreeMap::new(), VecDeque::new());
        Zones { zone_pages: 16, live, free, slots: 0, returned: Vec::new() }
    }

    #[test]
    fn slots_are_used_again_only_after_a_checkpoint_and_in_order() {
        let mut zones = none();
        (0..3).for_each(|zone| zones.open(zone));
        assert_eq!(zones.device_page(33), Some(33));
        zones.reclaim(1);
        zones.reclaim(0);
        assert_eq!((zones.device_page(33), zones.device_page(17)), (Some(33), None));
        zones.open(3);
        assert_eq!(zones.device_page(48), Some(48), "the device grows");
        zones.checkpointed();
        let mut again = zones.clone();
        zones.open(4);
        zones.open(5);
        assert_eq!((zones.device_page(64), zones.device_page(80)), (Some(16), Some(0)));
        again.open(4);
        again.open(5);
        assert_eq!(zones, again);
    }

    #[test]
    fn counts_stay_with_their_zone() {
        let mut zones = none();
        zones.open(0);
        zones.count_record(3);
        zones.count_stale(3);
        zones.count_stale(4);
        zones.count_stale(99);
        assert_eq!(zones.live[&0], Zone { slot: 0, records: 1, stale: 1 });
    }
}
