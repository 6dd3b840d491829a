//! Slots of tables by their identity. Holds slots alone: the identities lie with the tables, where `id_at` finds them.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use crate::TableId;

/// An index of the tables that are known.
#[derive(Default)]
pub(crate) struct Identities {
    slots: HashTable<u32>,
    hasher: RandomState,
}

impl Identities {
    /// Bytes per table: a slot and a control byte, in a table that is filled to 7/16 at least.
    pub(crate) const TABLE_BYTES: usize = (size_of::<u32>() + 1) * 16 / 7;

    /// The slot of the table with this identity.
    pub(crate) fn find(&self, id: TableId, id_at: impl Fn(u32) -> Option<TableId>) -> Option<u32> {
        self.slots.find(self.hasher.hash_one(Some(id)), |&slot| id_at(slot) == Some(id)).copied()
    }

    /// Takes in a slot whose table has this identity, which is not known yet.
    pub(crate) fn insert(&mut self, id: TableId, slot: u32, id_at: impl Fn(u32) -> Option<TableId>) {
        let hasher = &self.hasher;
        self.slots.insert_unique(hasher.hash_one(Some(id)), slot, |&slot| hasher.hash_one(id_at(slot)));
    }

    /// Takes out the slot of the table with this identity, which still is there, and gives it.
    pub(crate) fn remove(&mut self, id: TableId, id_at: impl Fn(u32) -> Option<TableId>) -> Option<u32> {
        let found = self.slots.find_entry(self.hasher.hash_one(Some(id)), |&slot| id_at(slot) == Some(id));
        Some(found.ok()?.remove().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_found_by_identity_until_they_are_taken_out() {
        let ids: Vec<_> = (0..1000).map(|n| TableId(n << 32)).collect();
        let id_at = |slot: u32| ids.get(slot as usize).copied();
        let mut index = Identities::default();
        (0..1000).for_each(|slot| index.insert(ids[slot as usize], slot, id_at));
        assert_eq!(index.remove(ids[7], id_at), Some(7));
        assert_eq!(index.remove(ids[7], id_at), None);
        for slot in 0..1000 {
            assert_eq!(index.find(ids[slot as usize], id_at), (slot != 7).then_some(slot));
        }
    }
}
