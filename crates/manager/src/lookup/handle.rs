//! A reader's access to its table's filters.

use std::sync::Arc;

use springbloom_filter::{KeyDigest, ProbeLayout};

use crate::budget::MemoryKind;
use crate::keys::Comparator;
use crate::lookup::group_cell::BorrowedGroup;
use crate::lookup::{LoadedIndex, Lookups, TableShared};
use crate::names::TableId;
use crate::visits::{Outcome, VisitedTable};

/// Segments of a batch whose keys are probed together: as many as `arc-swap` lends groups to a thread at little cost.
const GROUPS_PER_BATCH: usize = 8;

/// An open reader's access to its table's filters. Drop it when the reader is closed and its memory is freed. The table's state stays.
pub struct TableHandle {
    pub(super) table: TableShared,
}

impl TableHandle {
    /// Takes over what is reserved for a reader.
    pub(crate) fn of(table: TableShared) -> Self {
        Self { table }
    }

    /// Identity of the table.
    pub fn id(&self) -> TableId {
        self.table.id()
    }

    /// The table's place among the known tables. No other table has it while this one is open.
    pub fn slot(&self) -> u32 {
        self.table.slot()
    }

    /// What the table was [registered](crate::TableSpec::locator) with.
    pub fn locator(&self) -> &[u8] {
        self.table.locator()
    }

    /// The segment that would hold `key`: the last one that begins at or before it, or the first one.
    #[inline]
    pub fn segment_of(&self, key: &[u8], comparator: &dyn Comparator) -> u32 {
        // Tables of one segment need no search.
        if self.table.cells().len() == 1 {
            0
        } else {
            self.table.fences().segment_of(key, comparator).unwrap_or(0)
        }
    }

    /// Bytes that the table's fences and places of groups take.
    pub fn memory_bytes(&self) -> usize {
        self.table.bytes()
    }

    /// The whole index, if it is resident. Lock-free, without allocation (but for the thread's first call).
    #[inline]
    pub fn loaded_index(&self) -> Option<Arc<LoadedIndex>> {
        self.table.index()?.loaded()
    }

    /// How the resident units reject the key: the table does not hold it. [Record](Self::record) the outcome. `None`: the segment may hold
    /// the key. Lock-free, without allocation (but for the thread's first lookup).
    #[inline]
    pub fn rejection(&self, segment: u32, digest: KeyDigest) -> Option<Outcome> {
        let probe = self.table.layout(segment)?.probe(digest);
        self.table.cells().get(segment as usize)?.borrow().rejection(&probe)
    }

    /// Resident units of a segment, for a host whose engine does not say how a read ended. Lock-free, without allocation.
    pub fn resident_units(&self, segment: u32) -> u8 {
        self.table.resident_units(segment)
    }

    /// [`rejection`](Self::rejection) of each key of a batch, in order: `tell` gets the key's place and how it was rejected. Faster than
    /// one after the other: neighbouring keys of one segment borrow its group once, and the cache misses of several keys overlap.
    pub fn rejections(&self, keys: &[(u32, KeyDigest)], mut tell: impl FnMut(usize, Option<Outcome>)) {
        let mut place = 0;
        while place < keys.len() {
            let rest = &keys[place..];
            let runs = || rest.chunk_by(|(a, _), (b, _)| a == b);
            let mut groups = [const { None }; GROUPS_PER_BATCH];
            for (group, run) in groups.iter_mut().zip(runs()) {
                let (segment, _) = run[0];
                *group = self.group(segment);
                let Some((group, layout)) = group else { continue };
                run.iter().for_each(|&(_, digest)| group.prefetch(&layout.probe(digest)));
            }
            for (group, run) in groups.iter().zip(runs()) {
                for &(_, digest) in run {
                    // Made a second time, which takes less than keeping it.
                    let rejection =
                        group.as_ref().and_then(|(group, layout)| group.rejection(&layout.probe(digest)));
                    tell(place, rejection);
                    place += 1;
                }
            }
        }
    }

    /// The group of a segment, and the layout of its units.
    #[inline]
    fn group(&self, segment: u32) -> Option<(BorrowedGroup, ProbeLayout)> {
        let layout = self.table.layout(segment)?;
        Some((self.table.cells().get(segment as usize)?.borrow(), layout))
    }

    /// Notes how a lookup's visit to `segment` ended. Lock-free, without allocation (but for the thread's first visit).
    #[inline]
    pub fn record(&self, segment: u32, outcome: Outcome) {
        self.record_all([(segment, outcome)]);
    }

    /// [`record`](Self::record) of several visits, by segment. Faster than one after the other.
    #[inline]
    pub fn record_all(&self, visits: impl IntoIterator<Item = (u32, Outcome)>) {
        let base = VisitedTable::new(self.table.slot(), self.table.generation());
        self.table.lookups().visits.record_all(base, visits);
    }
}

impl Drop for TableHandle {
    fn drop(&mut self) {
        let Lookups { visits, reader_bytes } = &**self.table.lookups();
        visits.budget.release(MemoryKind::Bookkeeping, *reader_bytes);
    }
}
