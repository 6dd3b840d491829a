//! The whole indexes of tables, which the budget pays for next to units.
//!
//! An index is read by a chore of the load queue.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use springbloom_index::PackedIndex;

use super::memory::Memory;
use crate::budget::{MemoryKind, Reservation};
use crate::lookup::{LoadedIndex, TableIndex, TableShared};
use crate::memory::taken_bytes;
use crate::unit_source::{UnitReadError, UnitSource};

/// How often the choice is made, and the most of a core that it may take.
const LOOK_EVERY: Duration = Duration::from_millis(50);
const LOOK_PARTS: u32 = 100;
/// A table whose index could not be read is tried again after this time.
const RETRY_EVERY: Duration = Duration::from_secs(30);
/// Part of the budget that is given to indexes at a look: as much as the units leave free.
pub(super) const STEP_PARTS: usize = 32;
/// What a host's reader of an index takes.
pub(super) const HOST_BYTES: usize = 32;
/// Reference counts.
const COUNTS: usize = 2 * size_of::<usize>();

/// What is known of the indexes of all tables, beyond their places.
#[derive(Default)]
pub(crate) struct Indexes {
    /// Tables with a place for one.
    places: usize,
    /// When reads failed lately, by slot.
    failed: BTreeMap<u32, Instant>,
    /// The slots of those that the plan wants, in the order of their worth at the last look, the most first.
    planned: Vec<u32>,
    next_look: Option<Instant>,
}

/// Bytes that an index takes with what it is in.
fn index_bytes(index: &PackedIndex) -> usize {
    taken_bytes(index.heap_bytes()) + taken_bytes(COUNTS + size_of::<LoadedIndex>())
}

impl Indexes {
    /// A table came, which may have a place for an index.
    pub(super) fn add(&mut self, table: &TableShared) {
        self.places += usize::from(table.index().is_some());
    }

    /// The table in the slot is forgotten.
    pub(super) fn remove(&mut self, slot: u32, table: &TableShared) {
        if let Some(index) = table.index() {
            self.evict(slot, index);
            self.failed.remove(&slot);
            self.places -= 1;
        }
    }

    pub(super) fn evict(&mut self, slot: u32, index: &TableIndex) {
        self.planned.retain(|&planned| planned != slot);
        drop(index.evict());
    }

    /// Whether the index in the slot may be read now.
    pub(super) fn may_be_read(&self, slot: u32) -> bool {
        !self.failed.contains_key(&slot)
    }

    /// Whether it is time to choose again.
    pub(super) fn is_due(&self) -> bool {
        self.places > 0 && self.next_look.is_none_or(|next| Instant::now() >= next)
    }

    /// A choice was made, which left the planned ones in this order.
    pub(super) fn end_look(&mut self, begun: Instant, planned: Vec<u32>) {
        self.planned = planned;
        self.next_look = Some(Instant::now() + LOOK_EVERY.max(begun.elapsed() * LOOK_PARTS));
    }

    /// Evicts those of the least worth until the others have no more than that.
    pub(super) fn fit<'a>(&mut self, most_bytes: usize, index_of: impl Fn(u32) -> Option<&'a TableIndex>) {
        // Each is asked once for its bytes: a read that ends meanwhile changes them.
        let mut bytes = 0;
        let fits = |slot: &&u32| {
            bytes += index_of(**slot).map_or(0, |index| index.bytes());
            bytes <= most_bytes
        };
        let kept = self.planned.iter().take_while(fits).count();
        for slot in self.planned.split_off(kept) {
            drop(index_of(slot).and_then(|index| index.evict()));
        }
    }

    /// Notes which reads failed. Gives how many.
    pub(super) fn note_failures<'a>(
        &mut self,
        now: Instant,
        all: impl Iterator<Item = (u32, &'a TableIndex)>,
    ) -> u64 {
        self.failed.retain(|_, failed| now < *failed + RETRY_EVERY);
        let failed = all.filter(|(_, index)| index.take_failure());
        failed.map(|(slot, _)| self.failed.insert(slot, now)).count() as u64
    }
}

/// What indexes may have: bookkeeping comes first, and filters keep a third of the rest.
pub(super) fn most_bytes(memory: &Memory) -> usize {
    let bookkeeping = memory.budget.used_bytes_of(MemoryKind::Bookkeeping);
    memory.budget_bytes().saturating_sub(bookkeeping) / 3 * 2
}

/// Reads a table's index into the bytes of `reservation`.
pub(super) fn read(source: &dyn UnitSource, table: &TableShared, reservation: Reservation) {
    // It may have been evicted meanwhile.
    let Some(index) = table.index().filter(|index| index.is_planned()) else { return };
    let read = match source.read_index(table.slot()) {
        Ok(read) => read,
        // No reader has the table open any more: the next look knows.
        Err(UnitReadError::Gone) => return drop(index.evict()),
        Err(_) => return index.fail(),
    };
    let bytes = index_bytes(&read);
    index.set_bytes(bytes);
    match reservation.shrunk_to(bytes) {
        Some(reservation) => index.put(LoadedIndex::new(read, reservation)),
        // It is larger than was expected: the next look knows.
        None => drop(index.evict()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_read_that_ends_meanwhile_evicts_no_other() {
        let mut indexes = Indexes::default();
        let places = [1, 1].map(TableIndex::new);
        let read = &places[1];
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    [1, 1 << 20].into_iter().for_each(|bytes| read.set_bytes(bytes));
                }
            });
            let kept = |_| {
                indexes.planned = vec![0, 1];
                indexes.fit(1, |slot| places.get(slot as usize));
                indexes.planned == [0]
            };
            let are_kept = (0..1_000_000).all(kept);
            is_done.store(true, Ordering::Relaxed);
            assert!(are_kept);
        });
    }
}
