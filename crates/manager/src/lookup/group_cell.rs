//! The resident group of a segment, where lookups find it.
//!
//! A lookup borrows the group for one probe without touching its reference count. A replaced group goes to the
//! garbage of the registry, which frees it at once, or soon after if a lookup is probing it. A lookup never frees. Count, head
//! and words are one allocation.

use arc_swap::{ArcSwapAny, Guard};
use springbloom_filter::{FilterError, GroupLayout, GroupShape, Probe};

use crate::budget::{MemoryKind, Reservation};
use crate::lookup::unsafe_thin_arc::ThinArc;
use crate::memory::{GROUP_HEAD_BYTES, group_bytes};
use crate::visits::Outcome;

/// The head before a group's words. The layout of the words is in the table's allocation, so that a lookup can fetch head and words at
/// once.
#[derive(Clone, Copy)]
pub(crate) struct ResidentHead {
    /// Little-endian, in three bytes. With four a group would take 8 bytes more, and bookkeeping with groups 7% more.
    unit_words: [u8; 3],
    resident: u8,
}

impl ResidentHead {
    fn of(head: &GroupLayout) -> Self {
        let [w0, w1, w2, _] = (head.unit_words() as u32).to_le_bytes();
        Self { unit_words: [w0, w1, w2], resident: head.resident_units() }
    }

    pub(crate) fn words(self) -> usize {
        let [w0, w1, w2] = self.unit_words;
        u32::from_le_bytes([w0, w1, w2, 0]) as usize * usize::from(self.resident)
    }
}

const _: () = assert!(ResidentGroup::HEAD_BYTES == GROUP_HEAD_BYTES);

/// The resident units of a segment, laid out as [`GroupLayout`] says.
pub(crate) type ResidentGroup = ThinArc<ResidentHead>;

/// A group of `units` units in the bytes of `reservation`: the units of the old group are copied, `fill` adds the others.
fn build(
    shape: GroupShape,
    units: u8,
    reservation: Reservation,
    old: Option<&ResidentGroup>,
    fill: impl FnOnce(&GroupLayout, &mut [u64]) -> Result<(), FilterError>,
) -> Result<ResidentGroup, FilterError> {
    debug_assert_eq!(reservation.bytes(), group_bytes(shape, units));
    let head = GroupLayout::new(shape, units);
    let mut group = ResidentGroup::new(ResidentHead::of(&head), || 0, &[]);
    let words = group.items_mut().unwrap_or_default(); // nobody else has it yet
    if let Some(old) = old {
        head.copy_units(words, &GroupLayout::new(shape, old.head().resident), old.items());
    }
    fill(&head, words)?;
    reservation.forget(MemoryKind::Units);
    Ok(group)
}

/// A group that no lookup can find yet. Its units are read one after the other into their places.
pub(crate) struct NewGroup {
    shape: GroupShape,
    group: ResidentGroup,
    reservation: Reservation,
}

impl NewGroup {
    /// For `units` units, in the bytes of `reservation`.
    pub(crate) fn new(shape: GroupShape, units: u8, reservation: Reservation) -> Self {
        debug_assert_eq!(reservation.bytes(), group_bytes(shape, units));
        let head = ResidentHead::of(&GroupLayout::new(shape, units));
        Self { shape, group: ResidentGroup::new(head, || 0, &[]), reservation }
    }

    /// How many units it is for.
    pub(crate) fn units(&self) -> u8 {
        self.group.head().resident
    }

    /// Puts a unit into its place.
    pub(crate) fn set_unit(&mut self, unit: u8, bytes: &[u8]) -> Result<(), FilterError> {
        let layout = GroupLayout::new(self.shape, self.units());
        let words = self.group.items_mut().unwrap_or_default(); // nobody else has it yet
        layout.set_unit(words, unit.into(), bytes)
    }
}

fn resident_units(group: Option<&ResidentGroup>) -> u8 {
    group.map_or(0, |group| group.head().resident)
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

    /// Replaces the group by one with the units in `added` behind its own, `units` in all. `reservation` is for the whole new group. Gives
    /// the old group. On an error nothing changes; that the sum is not `units` is an error.
    pub(crate) fn grow(
        &self,
        shape: GroupShape,
        units: u8,
        added: &[Vec<u8>],
        reservation: Reservation,
    ) -> Result<Option<ResidentGroup>, FilterError> {
        let old = self.0.load();
        let resident = resident_units(old.as_ref());
        if usize::from(resident) + added.len() != usize::from(units) {
            // A missing unit would be zeros, which reject keys that the table holds.
            return Err(FilterError::TooManyUnits { got: units.into(), built: resident + 1 });
        }
        let group = build(shape, units, reservation, old.as_ref(), |head, words| {
            let places = usize::from(resident)..;
            places.zip(added).try_for_each(|(unit, bytes)| head.set_unit(words, unit, bytes))
        })?;
        drop(old); // a borrowed group counts as probed
        Ok(self.0.swap(Some(group)))
    }

    /// Replaces the group by its first `units` units, or by none if it has fewer. `reservation` is for the whole new group. Gives the old
    /// group.
    pub(crate) fn shrink(
        &self,
        shape: GroupShape,
        units: u8,
        reservation: Reservation,
    ) -> Option<ResidentGroup> {
        let old = self.0.load();
        let has_them = resident_units(old.as_ref()) >= units;
        let group = has_them.then(|| build(shape, units, reservation, old.as_ref(), |_, _| Ok(())));
        drop(old); // a borrowed group counts as probed
        self.0.swap(group.and_then(Result::ok))
    }

    /// Replaces the group by one whose units were all read. Gives the old group.
    pub(crate) fn put(&self, new: NewGroup) -> Option<ResidentGroup> {
        new.reservation.forget(MemoryKind::Units);
        self.0.swap(Some(new.group))
    }

    /// Units of the group as it is now.
    pub(crate) fn resident_units(&self) -> u8 {
        resident_units(self.0.load().as_ref())
    }

    /// Takes the group away.
    pub(crate) fn clear(&self) -> Option<ResidentGroup> {
        self.0.swap(None)
    }
}
