//! The resident group of a segment, where lookups find it.
//!
//! A lookup borrows the group for one probe without touching its reference count. A group is resized in its own bytes, so nothing is kept
//! free for a copy: it leaves its place, where lookups find no units meanwhile, and comes back. Where a lookup that is not running probes
//! it, a copy comes back: among many threads, one of them nearly always does. A group that is taken away goes to the garbage of the
//! registry, which frees it at once, or soon after if a lookup is probing it. A lookup never frees. Count, head and words are one
//! allocation.

use arc_swap::{ArcSwapAny, Guard};
use springbloom_filter::{FilterError, GroupLayout, GroupShape, Probe};

use crate::lookup::unsafe_thin_arc::{Count, ThinArc};
use crate::memory::GROUP_HEAD_BYTES;
use crate::visits::Outcome;

/// The head before a group's words. The layout of the words is in the table's allocation, so that a lookup can fetch head and words at
/// once.
pub(crate) struct ResidentHead {
    pub count: Count,
    /// Little-endian, in three bytes. With four a group would take 8 bytes more, and bookkeeping with groups 7% more.
    unit_words: [u8; 3],
    resident: u8,
}

impl ResidentHead {
    fn of(head: &GroupLayout) -> Self {
        let [w0, w1, w2, _] = (head.unit_words() as u32).to_le_bytes();
        Self { count: Count::default(), unit_words: [w0, w1, w2], resident: head.resident_units() }
    }

    /// Another one for as many units.
    pub(crate) fn again(&self) -> Self {
        Self { count: Count::default(), ..*self }
    }

    pub(crate) fn words(&self) -> usize {
        let [w0, w1, w2] = self.unit_words;
        u32::from_le_bytes([w0, w1, w2, 0]) as usize * usize::from(self.resident)
    }
}

const _: () = assert!(ResidentGroup::HEAD_BYTES == GROUP_HEAD_BYTES);

/// The resident units of a segment, laid out as [`GroupLayout`] says.
pub(crate) type ResidentGroup = ThinArc<ResidentHead>;

/// Why a group was not resized.
#[derive(Debug)]
pub(crate) enum ResizeError {
    /// The units do not fit it.
    Units(FilterError),
    /// A lookup that is not running probes it, and there is no room for a copy.
    IsProbed,
}

impl From<FilterError> for ResizeError {
    fn from(error: FilterError) -> Self {
        Self::Units(error)
    }
}

/// A lookup borrows a group for less than a microsecond, unless its thread is interrupted.
const SPINS: usize = 1000;

/// Waits a little for the lookups that probe a group which no other can find.
fn becomes_unique(group: &ResidentGroup) -> bool {
    (0..SPINS).any(|_| {
        std::hint::spin_loop();
        group.is_unique()
    })
}

/// Brings the units of a group of `resident` units to their places in `layout`.
fn rearrange(group: &mut ResidentGroup, layout: &GroupLayout, shape: GroupShape, resident: u8) {
    let words = group.items_mut().unwrap_or_default(); // nobody else has it
    layout.rearrange(words, &GroupLayout::new(shape, resident));
}

/// The group that a segment had when it was borrowed; nobody frees it meanwhile.
pub(crate) struct BorrowedGroup(Guard<Option<ResidentGroup>>);

impl BorrowedGroup {
    /// See [`Probe::prefetch`].
    #[inline]
    pub(crate) fn prefetch(&self, probe: &Probe) {
        if let Some(group) = self.0.as_ref() {
            probe.prefetch(group.items(), group.head().resident);
        }
    }

    /// How the resident units reject the key; `None` if the segment may hold it.
    #[inline]
    pub(crate) fn rejection(&self, probe: &Probe) -> Option<Outcome> {
        let group = self.0.as_ref()?;
        let resident = group.head().resident;
        let unit = probe.rejecting_unit(group.items(), resident)?;
        let is_last = unit + 1 == resident;
        Some(if is_last { Outcome::RejectedByLast } else { Outcome::Rejected })
    }
}

/// The place of a segment's group.
#[derive(Default)]
pub(crate) struct GroupCell(ArcSwapAny<Option<ResidentGroup>>);

impl GroupCell {
    /// The group as it is now, for a few probes. Lock-free, no allocation (but for the thread's first use of any slot).
    #[inline]
    pub(crate) fn borrow(&self) -> BorrowedGroup {
        BorrowedGroup(self.0.load())
    }

    /// Makes the group one of `units` units: its first ones, then those in `added`. Their sum must be `units`. The caller accounts for the
    /// bytes that it takes more or less. `copy` gives a copy of a group that is still probed, or without room for it the group. On an error
    /// nothing changes.
    pub(crate) fn resize(
        &self,
        shape: GroupShape,
        units: u8,
        added: &[&[u8]],
        copy: impl FnOnce(ResidentGroup) -> Result<ResidentGroup, ResidentGroup>,
    ) -> Result<(), ResizeError> {
        let layout = GroupLayout::new(shape, units);
        let (resident, head) = (self.resident_units(), ResidentHead::of(&layout));
        let kept = resident.min(units);
        if usize::from(kept) + added.len() != usize::from(units) {
            // A missing unit would be zeros, which reject keys that the table holds.
            return Err(FilterError::TooManyUnits { got: units.into(), built: kept + 1 }.into());
        }
        let expected = shape.unit_bytes();
        if let Some(at) = added.iter().position(|bytes| bytes.len() != expected) {
            let (unit, got) = (usize::from(kept) + at, added[at].len());
            return Err(FilterError::UnitBytes { unit, got, expected }.into());
        }
        let mut old = self.clear();
        if let Some(probed) = old.take_if(|old| !becomes_unique(old)) {
            match copy(probed) {
                Ok(copy) => old = Some(copy),
                Err(probed) => {
                    self.0.store(Some(probed));
                    return Err(ResizeError::IsProbed);
                }
            }
        }
        let mut group = match old {
            None => ResidentGroup::new(head, || 0, || (), &[]),
            Some(mut old) if units < resident => {
                rearrange(&mut old, &layout, shape, resident);
                old.resized(head, 0)
            }
            Some(old) => {
                let mut group = old.resized(head, 0);
                rearrange(&mut group, &layout, shape, resident);
                group
            }
        };
        let words = group.items_mut().unwrap_or_default(); // nobody else has it yet
        for (unit, bytes) in (usize::from(kept)..).zip(added) {
            layout.set_unit(words, unit, bytes)?;
        }
        self.0.store(Some(group));
        Ok(())
    }

    /// Units of the group as it is now.
    pub(crate) fn resident_units(&self) -> u8 {
        self.0.load().as_ref().map_or(0, |group| group.head().resident)
    }

    /// Takes the group away.
    pub(crate) fn clear(&self) -> Option<ResidentGroup> {
        self.0.swap(None)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use springbloom_filter::{KeyDigest, ProbeLayout, UnitSettings};

    use super::*;

    /// The bytes of a group that goes are at once those of the next one, of the other segment. With `arc-swap` 1.9.3 this fails nearly
    /// always.
    #[test]
    fn a_lookup_never_gets_the_group_of_another_segment() {
        let keys = [0u32, 1].map(|of| (0..100).map(move |n| KeyDigest::of(&(2 * n + of).to_le_bytes())));
        let built =
            keys.clone().map(|keys| UnitSettings::bloom(1, 8).unwrap().build(&keys.collect::<Vec<_>>()));
        let (shape, layout) = (built[0].shape, ProbeLayout::new(built[0].shape));
        assert_eq!(shape, built[1].shape);
        let (cells, is_over) = ([(); 2].map(|()| GroupCell::default()), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    for (cell, mut keys) in cells.iter().zip(keys.clone()) {
                        let is_there = |key| cell.borrow().rejection(&layout.probe(key)).is_none();
                        assert!(keys.all(is_there), "another segment's group rejected a key that is there");
                    }
                }
            });
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(2) {
                for (cell, built) in cells.iter().zip(&built) {
                    cell.resize(shape, 1, &[&built.units[0]], Err).unwrap();
                    drop(cell.clear());
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }
}
