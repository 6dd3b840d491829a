//! The resident group of a segment, where lookups find it.
//!
//! A lookup borrows the group for the time of one probe without touching its reference count. Whoever replaces a group gets
//! the old one and hands it to the [garbage](crate::registry::garbage), which frees it at once or, in the rare case that a lookup is
//! probing it, soon after: a lookup never frees, and the bytes are the budget's again only when they are free. Count, head and
//! words are one allocation.

use arc_swap::ArcSwapAny;
use springbloom_filter::{FilterError, GroupLayout, GroupShape, Probe};

use crate::lookup::unsafe_thin::Thin;
use crate::memory::{GROUP_HEAD_BYTES, group_bytes};
use crate::{MemoryKind, Outcome, Reservation};

/// What stands before a group's words. How they lie is in the table's allocation: so a lookup asks for count and words at once.
#[derive(Clone, Copy)]
pub(crate) struct ResidentHead {
    /// Little-endian, to leave a byte: 8 bytes a group, 0.7% of wasted reads (decision 0024).
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

/// Units of one segment, one after the other as [`GroupLayout`] says.
pub(crate) type ResidentGroup = Thin<ResidentHead>;

/// A group of `units` units in the bytes that `reservation` holds, with those of the old one that it has, for `fill` to go on with.
pub(crate) fn build(
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
    reservation.hand_over(MemoryKind::Units);
    Ok(group)
}

fn resident_units(group: Option<&ResidentGroup>) -> u8 {
    group.map_or(0, |group| group.head().resident)
}

/// The place of a segment's group.
#[derive(Default)]
pub(crate) struct GroupCell(ArcSwapAny<Option<ResidentGroup>>);

impl GroupCell {
    /// How the resident units reject the key; `None` if the segment may hold it. Lock-free, no allocation (but for the thread's
    /// first use of any slot).
    #[inline]
    pub(crate) fn rejection(&self, probe: &Probe) -> Option<Outcome> {
        let group = self.0.load();
        let group = group.as_ref()?;
        let resident = group.head().resident;
        let unit = probe.rejecting_unit(group.items(), resident)?;
        let is_last = unit + 1 == resident;
        Some(if is_last { Outcome::RejectedByLast } else { Outcome::Rejected })
    }

    /// Adds the units that follow those of the group that is there; `units` says how many it has with them. `reservation` is for the
    /// whole group, as [`group_bytes`] says. Gives what was replaced; on an error, which a group of another size is too, nothing changes.
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
            // A unit that is in no group would be zeros, and reject keys that are there.
            return Err(FilterError::TooManyUnits { got: units.into(), built: resident + 1 });
        }
        let group = build(shape, units, reservation, old.as_ref(), |head, words| {
            let places = usize::from(resident)..;
            places.zip(added).try_for_each(|(unit, bytes)| head.set_unit(words, unit, bytes))
        })?;
        drop(old); // or it would count as a lookup that probes it
        Ok(self.0.swap(Some(group)))
    }

    /// Takes the group's last units away, so that `units` are left, or all of them if there are not so many. `reservation` is for the
    /// whole group, as [`group_bytes`] says. Gives what was replaced.
    pub(crate) fn shrink(
        &self,
        shape: GroupShape,
        units: u8,
        reservation: Reservation,
    ) -> Option<ResidentGroup> {
        let old = self.0.load();
        let has_them = resident_units(old.as_ref()) >= units;
        let group = has_them.then(|| build(shape, units, reservation, old.as_ref(), |_, _| Ok(())));
        drop(old); // or it would count as a lookup that probes it
        self.0.swap(group.and_then(Result::ok))
    }

    /// Puts in a group; gives what was replaced.
    pub(crate) fn put(&self, group: ResidentGroup) -> Option<ResidentGroup> {
        self.0.swap(Some(group))
    }

    /// Takes the group away.
    pub(crate) fn clear(&self) -> Option<ResidentGroup> {
        self.0.swap(None)
    }
}
