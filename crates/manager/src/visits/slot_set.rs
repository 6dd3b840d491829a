//! Some slots of tables, to find the few visits to them among many.

/// Bit `slot % 64` of each of some slots.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SlotMask(u64);

impl SlotMask {
    pub(super) fn add(&mut self, slot: u32) {
        self.0 |= 1 << (slot % u64::BITS);
    }

    fn may_have(self, slot: u32) -> bool {
        self.0 >> (slot % u64::BITS) & 1 != 0
    }

    pub(super) fn may_share(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// A set of slots.
pub(crate) struct SlotSet {
    slots: Vec<u32>,
    mask: SlotMask,
}

impl SlotSet {
    pub(crate) fn new(mut slots: Vec<u32>) -> Self {
        slots.sort_unstable();
        let mut mask = SlotMask::default();
        slots.iter().for_each(|&slot| mask.add(slot));
        Self { slots, mask }
    }

    pub(crate) fn contains(&self, slot: u32) -> bool {
        self.mask.may_have(slot) && self.slots.binary_search(&slot).is_ok()
    }

    pub(super) fn mask(&self) -> SlotMask {
        self.mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_its_slots_and_its_mask_has_no_fewer() {
        let set = SlotSet::new(vec![200, 3, 72, 5]);
        let found: Vec<_> = (0..1000).filter(|&slot| set.contains(slot)).collect();
        assert_eq!(found, [3, 5, 72, 200]);
        let shares = |slot| {
            let mut mask = SlotMask::default();
            mask.add(slot);
            mask.may_share(set.mask())
        };
        assert_eq!((0..1000).filter(|&slot| shares(slot) && slot < 64).collect::<Vec<_>>(), [3, 5, 8]);
        assert!(found.into_iter().all(shares));
        assert!(!SlotSet::new(Vec::new()).contains(0));
    }
}
