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
    use crate::lookup::group_cell::{GroupCell, NewGroup};
    use crate::memory::group_bytes;

    #[test]
    fn a_group_grows_and_shrinks_in_the_bytes_that_were_reserved_for_it() {
        let digests: Vec<_> = (0..300u32).map(|n| KeyDigest::of(&n.to_le_bytes())).collect();
        let strangers: Vec<_> = (300..5000u32).map(|n| KeyDigest::of(&n.to_le_bytes())).collect();
        for settings in [UnitSettings::bloom(5, 4).unwrap(), UnitSettings::ribbon(7).unwrap()] {
            let built = settings.build(&digests);
            let layout = ProbeLayout::new(built.shape);
            let budget = MemoryBudget::new(1 << 20);
            let (slot, mut garbage) = (GroupCell::default(), Garbage::new(budget.clone()));
            let reserve =
                |units| budget.try_reserve(MemoryKind::Loading, group_bytes(built.shape, units)).unwrap();
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
                let unit = usize::from(units) - 1;
                let added = &built.units[unit..=unit];
                garbage.take_group(slot.grow(built.shape, units, added, reserve(units)).unwrap());
                assert_eq!(budget.used_bytes_of(MemoryKind::Units), group_bytes(built.shape, units));
                passed.push(passing(&slot));
            }
            assert!(passed.is_sorted_by(|more, fewer| more > fewer), "{passed:?}");
            let empty = GroupCell::default();
            assert!(
                empty.grow(built.shape, 1, &[vec![0; 3]], reserve(1)).is_err(),
                "a unit of the wrong length"
            );
            assert!(
                empty.grow(built.shape, 2, &built.units[1..2], reserve(2)).is_err(),
                "there is no first unit"
            );
            assert!(empty.shrink(built.shape, 2, reserve(2)).is_none() && passing(&empty) == strangers.len());
            for units in [5, 2, 1] {
                garbage.take_group(slot.shrink(built.shape, units, reserve(units)));
                assert_eq!(passing(&slot), passed[usize::from(units)], "{units} units");
                assert_eq!(budget.used_bytes_of(MemoryKind::Units), group_bytes(built.shape, units));
            }
            for units in [1, settings.unit_count()] {
                let mut new = NewGroup::new(built.shape, units, reserve(units));
                let read = (0..units).zip(&built.units);
                read.for_each(|(unit, bytes)| new.set_unit(unit, bytes).unwrap());
                assert!(new.set_unit(units, &built.units[0]).is_err(), "there is no place for it");
                garbage.take_group(slot.put(new));
                assert_eq!(passing(&slot), passed[usize::from(units)], "{units} units");
                assert_eq!(budget.used_bytes_of(MemoryKind::Units), group_bytes(built.shape, units));
            }
            garbage.take_group(slot.clear());
            assert_eq!(passing(&slot), strangers.len());
            drop(NewGroup::new(built.shape, 1, reserve(1)));
            assert_eq!(budget.used_bytes(), 0);
        }
    }
}
