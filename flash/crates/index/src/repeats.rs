//! Drops the entries of replaced records when a partition holds many entries of one key. Otherwise a key that is put again and again fills
//! its partition, and splits do not help.

use std::collections::HashSet;

use crate::entry::{Entry, belongs, fingerprint};
use crate::record::INDEX_PAGE_BYTES;
use crate::store::FlashIndex;
use springbloom_page_device::{AlignedBuf, FlashError};

/// Entries with equal fingerprints at which their pages are read. Different keys rarely share a fingerprint this often, and a key that is
/// replaced less often costs little.
const REPEATS_MIN: usize = 8;

impl FlashIndex {
    /// Returns `entries` (ordered by page) of the partition at `prefix` without those of replaced records, where many have one fingerprint.
    /// Keeps one entry per zone and key: a tombstone may be dropped only when no zone holds an older record, and the entries must tell
    /// that. Reads the pages of the entries with frequent fingerprints.
    pub(crate) fn without_repeats(
        &self,
        entries: Vec<Entry>,
        prefix: u64,
        depth: u8,
    ) -> Result<Vec<Entry>, FlashError> {
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by_key(|&i| (entries[i].bits, entries[i].fingerprint, i));
        let mut dropped = HashSet::new();
        for group in order.chunk_by(|&a, &b| {
            (entries[a].bits, entries[a].fingerprint) == (entries[b].bits, entries[b].fingerprint)
        }) {
            if group.len() >= REPEATS_MIN {
                self.drop_replaced(&entries, group, prefix, depth, &mut dropped)?;
            }
        }
        let kept = entries.iter().enumerate().filter(|(i, _)| !dropped.contains(i));
        Ok(kept.map(|(_, entry)| *entry).collect())
    }

    fn drop_replaced(
        &self,
        entries: &[Entry],
        group: &[usize],
        prefix: u64,
        depth: u8,
        dropped: &mut HashSet<usize>,
    ) -> Result<(), FlashError> {
        let mut seen: HashSet<(u64, (bool, Vec<u8>))> = HashSet::new();
        let mut buf = AlignedBuf::new(INDEX_PAGE_BYTES);
        for &i in group.iter().rev() {
            let entry = entries[i];
            let zone = self.log.zones.read().zone_of(entry.page);
            let mut is_replaced = true;
            for page in self.log.read_run(entry.page, &mut buf) {
                for record in page.map_err(|fault| self.page_error(entry.page, fault))?.records() {
                    let digest = record.name.digest(self.salt);
                    let is_meant = belongs(digest, prefix, depth)
                        && fingerprint(digest, depth, entry.bits) == entry.fingerprint;
                    if is_meant && seen.insert((zone, record.name.to_owned())) {
                        is_replaced = false;
                    }
                }
            }
            if is_replaced {
                dropped.insert(i);
            }
        }
        Ok(())
    }
}
