//! Replaced groups that a lookup still probes. The background thread frees them, never a lookup. Their bytes return to the budget then.

use crate::budget::{MemoryBudget, MemoryKind};
use crate::lookup::group_cell::ResidentGroup;

/// Replaced groups that were in use when they came in.
pub(crate) struct Garbage {
    budget: MemoryBudget,
    groups: Vec<ResidentGroup>,
}

impl Garbage {
    pub(crate) fn new(budget: MemoryBudget) -> Self {
        Self { budget, groups: Vec::new() }
    }

    /// Takes a group that was taken out of its cell.
    pub(crate) fn take_group(&mut self, group: Option<ResidentGroup>) {
        self.groups.extend(group);
        self.collect();
    }

    /// Takes a group that a lookup probes, and gives a copy; without room for both, the group.
    pub(crate) fn replace(&mut self, group: ResidentGroup) -> Result<ResidentGroup, ResidentGroup> {
        let Some(room) = self.budget.try_reserve(MemoryKind::Units, group.allocated_bytes()) else {
            return Err(group);
        };
        let copy = group.copied(group.head().again(), 0);
        room.forget(MemoryKind::Units);
        self.take_group(Some(group));
        Ok(copy)
    }

    /// Frees what nobody else uses any more.
    pub(crate) fn collect(&mut self) {
        let budget = &self.budget;
        // Memory first, bytes of the budget after it: the budget must never be exceeded.
        let free = self.groups.extract_if(.., |group| group.is_unique());
        free.for_each(|group| {
            let bytes = group.allocated_bytes();
            drop(group);
            budget.release(MemoryKind::Units, bytes);
        });
    }
}

#[cfg(test)]
mod tests {
    use springbloom_filter::{KeyDigest, ProbeLayout, UnitSettings};

    use super::*;
    use crate::lookup::group_cell::{GroupCell, ResizeError};
    use crate::memory::group_bytes;

    #[test]
    fn a_group_grows_and_shrinks_as_a_copy_if_a_lookup_probes_it() {
        let digests: Vec<_> = (0..300u32).map(|n| KeyDigest::of(&n.to_le_bytes())).collect();
        let strangers: Vec<_> = (300..5000u32).map(|n| KeyDigest::of(&n.to_le_bytes())).collect();
        for settings in [UnitSettings::bloom(5, 4).unwrap(), UnitSettings::ribbon(7).unwrap()] {
            let built = settings.build(&digests);
            let built_units: Vec<_> = built.units.iter().map(Vec::as_slice).collect();
            let layout = ProbeLayout::new(built.shape);
            let budget = MemoryBudget::new(1 << 20);
            let (slot, mut garbage) = (GroupCell::default(), Garbage::new(budget.clone()));
            let passing = |slot: &GroupCell| {
                assert!(
                    digests.iter().all(|&digest| slot.borrow().rejection(&layout.probe(digest)).is_none())
                );
                strangers
                    .iter()
                    .filter(|&&digest| slot.borrow().rejection(&layout.probe(digest)).is_none())
                    .count()
            };
            let mut passed = vec![strangers.len()];
            for units in 1..=settings.unit_count() {
                let added = built_units[usize::from(units) - 1];
                slot.resize(built.shape, units, &[added], Err).unwrap();
                passed.push(passing(&slot));
            }
            assert!(passed.is_sorted_by(|more, fewer| more > fewer), "{passed:?}");
            let empty = GroupCell::default();
            assert!(empty.resize(built.shape, 1, &[&[0; 3]], Err).is_err(), "a unit of the wrong length");
            assert!(empty.resize(built.shape, 2, &built_units[1..2], Err).is_err(), "there is no first unit");
            assert!(empty.resize(built.shape, 2, &[], Err).is_err() && passing(&empty) == strangers.len());
            for units in [5, 2, 1] {
                let (resident, probed) = (slot.resident_units(), slot.borrow());
                let bytes = group_bytes(built.shape, resident);
                budget.ask(2 * bytes - 1);
                budget.follow();
                let held = budget.try_reserve(MemoryKind::Units, bytes).unwrap();
                let resized = slot.resize(built.shape, units, &[], |group| garbage.replace(group));
                assert!(matches!(resized, Err(ResizeError::IsProbed)), "no room for a copy");
                assert_eq!(passing(&slot), passed[usize::from(resident)], "nothing changed");
                budget.ask(2 * bytes);
                budget.follow();
                slot.resize(built.shape, units, &[], |group| garbage.replace(group)).unwrap();
                assert_eq!((passing(&slot), budget.used_bytes()), (passed[usize::from(units)], 2 * bytes));
                drop(probed);
                garbage.collect();
                assert_eq!(budget.used_bytes(), bytes, "of the copy");
                held.forget(MemoryKind::Units);
                budget.release(MemoryKind::Units, bytes);
            }
            budget.ask(1 << 20);
            budget.follow();
            slot.resize(built.shape, settings.unit_count(), &built_units[1..], Err).unwrap();
            assert_eq!(passing(&slot), passed[usize::from(settings.unit_count())], "all at once");
            let bytes = group_bytes(built.shape, settings.unit_count());
            budget.try_reserve(MemoryKind::Units, bytes).unwrap().forget(MemoryKind::Units);
            let probed = slot.borrow();
            garbage.take_group(slot.clear());
            assert_eq!((passing(&slot), budget.used_bytes()), (strangers.len(), bytes), "a lookup probes it");
            drop(probed);
            garbage.collect();
            assert_eq!(budget.used_bytes(), 0);
        }
    }
}
