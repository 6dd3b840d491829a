//! The resident group of a segment, where lookups find it.
//!
//! A lookup borrows the group for the time of one probe without touching its reference count; replacing it frees the old
//! group at once, or, in the rare case that a lookup is probing it, when that probe ends. The group's owner gives its
//! bytes back to the budget when it is freed, not before. Count, owner and words are one allocation.

use arc_swap::ArcSwapAny;
use springbloom_filter::{FilterError, GroupHead, GroupShape, KeyDigest};
use triomphe::{Arc, ThinArc};

use crate::memory::allocated_bytes;
use crate::{MemoryBudget, MemoryKind, Outcome, Reservation};

/// What stands before a group's words.
struct Owner {
    budget: MemoryBudget,
    head: GroupHead,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.budget.release(MemoryKind::Units, bytes_of(size_of::<u64>() * self.head.words()));
    }
}

type ResidentGroup = ThinArc<Owner, u64>;

/// Bytes of the allocation of a group whose words take `words_bytes`: with its count, its owner and its length.
fn bytes_of(words_bytes: usize) -> usize {
    allocated_bytes(size_of::<usize>() + size_of::<Owner>() + size_of::<usize>() + words_bytes)
}

/// Bytes that a segment's group takes with `units` units resident, with everything that owns it.
pub(crate) fn group_bytes(shape: GroupShape, units: u8) -> usize {
    match units.min(shape.unit_count()) {
        0 => 0,
        units => bytes_of(shape.unit_bytes() * usize::from(units)),
    }
}

/// A group of `units` units in the bytes that `reservation` holds, for `fill` to put words into.
fn build(
    shape: GroupShape,
    units: u8,
    reservation: Reservation,
    fill: impl FnOnce(&GroupHead, &mut [u64]) -> Result<(), FilterError>,
) -> Result<ResidentGroup, FilterError> {
    debug_assert_eq!(reservation.bytes(), group_bytes(shape, units));
    let head = GroupHead::new(shape, units);
    let owner = Owner { budget: reservation.hand_over(MemoryKind::Units), head };
    let mut group = ThinArc::from_header_and_iter(owner, std::iter::repeat_n(0, head.words()));
    let filled = group.with_arc_mut(|group| Arc::get_mut(group).map(|group| fill(&head, group.slice_mut())));
    filled.unwrap_or(Ok(()))?; // nobody else has it yet
    Ok(group)
}

/// The place of a segment's group.
#[derive(Default)]
pub(crate) struct Slot(ArcSwapAny<Option<ResidentGroup>>);

impl Slot {
    /// How the resident units reject the key; `None` if the segment may hold it. Lock-free, no allocation (but for the thread's
    /// first use of any slot).
    #[inline]
    pub(crate) fn rejection(&self, digest: KeyDigest) -> Option<Outcome> {
        let group = self.0.load();
        let group = group.as_ref()?;
        let head = &group.header.header.head;
        let unit = head.rejecting_unit(&group.slice, digest)?;
        let is_last = unit + 1 == head.resident_units();
        Some(if is_last { Outcome::RejectedByLast } else { Outcome::Rejected })
    }

    /// Adds a unit to the group that is there; `units` says how many it has with it. `reservation` is for the whole group, as
    /// [`group_bytes`] says. On an error nothing changes.
    pub(crate) fn grow(
        &self,
        shape: GroupShape,
        units: u8,
        unit: &[u8],
        reservation: Reservation,
    ) -> Result<(), FilterError> {
        let group = build(shape, units, reservation, |head, words| {
            if let Some(old) = self.0.load().as_ref() {
                head.copy_units(words, &old.header.header.head, &old.slice);
            }
            head.set_unit(words, usize::from(units).saturating_sub(1), unit)
        })?;
        self.0.store(Some(group));
        Ok(())
    }

    /// Takes the group's last units away, so that `units` are left. `reservation` is for the whole group, as [`group_bytes`] says.
    pub(crate) fn shrink(&self, shape: GroupShape, units: u8, reservation: Reservation) {
        let group = build(shape, units, reservation, |head, words| {
            if let Some(old) = self.0.load().as_ref() {
                head.copy_units(words, &old.header.header.head, &old.slice);
            }
            Ok(())
        });
        self.0.store(group.ok());
    }

    /// Takes the group away.
    pub(crate) fn clear(&self) {
        self.0.store(None);
    }
}

#[cfg(test)]
mod tests {
    use springbloom_filter::UnitSettings;

    use super::*;

    #[test]
    fn a_group_grows_and_shrinks_in_the_bytes_that_were_reserved_for_it() {
        let digests: Vec<_> = (0..300u32).map(|n| KeyDigest::of(&n.to_le_bytes())).collect();
        let strangers: Vec<_> = (300..5000u32).map(|n| KeyDigest::of(&n.to_le_bytes())).collect();
        for settings in [UnitSettings::bloom(5, 4).unwrap(), UnitSettings::ribbon(7).unwrap()] {
            let built = settings.build(&digests);
            let budget = MemoryBudget::new(1 << 20);
            let slot = Slot::default();
            let reserve =
                |units| budget.try_reserve(MemoryKind::Loading, group_bytes(built.shape, units)).unwrap();
            let passing = |slot: &Slot| {
                assert!(digests.iter().all(|&digest| slot.rejection(digest).is_none()));
                strangers.iter().filter(|&&digest| slot.rejection(digest).is_none()).count()
            };
            let mut passed = vec![strangers.len()];
            for units in 1..=settings.unit_count() {
                slot.grow(built.shape, units, &built.units[usize::from(units) - 1], reserve(units)).unwrap();
                assert_eq!(budget.used_bytes_of(MemoryKind::Units), group_bytes(built.shape, units));
                passed.push(passing(&slot));
            }
            assert!(passed.is_sorted_by(|more, fewer| more > fewer), "{passed:?}");
            assert!(slot.grow(built.shape, 1, &[0; 3], reserve(1)).is_err(), "a unit of the wrong length");
            for units in [5, 2, 1] {
                slot.shrink(built.shape, units, reserve(units));
                assert_eq!(passing(&slot), passed[usize::from(units)], "{units} units");
                assert_eq!(budget.used_bytes_of(MemoryKind::Units), group_bytes(built.shape, units));
            }
            slot.clear();
            assert_eq!(passing(&slot), strangers.len());
            assert_eq!(budget.used_bytes(), 0);
        }
    }
}
