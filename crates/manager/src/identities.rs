//! Slots of tables by their identity, in its order: four bytes a table, where a hash table would take ten. Holds slots alone: the
//! identities lie with the tables, where `id_at` finds them. Searched when tables are opened and forgotten, never by a lookup.

use crate::TableId;
use crate::memory::{grow_thriftily, thrifty_bytes};

/// An index of the tables that are known.
#[derive(Default)]
pub(crate) struct Identities {
    slots: Vec<u32>,
}

impl Identities {
    /// Bytes of a table.
    pub(crate) const TABLE_BYTES: usize = thrifty_bytes::<u32>();

    /// Where in the order the table with this identity stands, or would stand.
    fn place(&self, id: TableId, id_at: impl Fn(u32) -> Option<TableId>) -> Result<usize, usize> {
        self.slots.binary_search_by_key(&Some(id), |&slot| id_at(slot))
    }

    /// The slot of the table with this identity. O(log tables).
    pub(crate) fn find(&self, id: TableId, id_at: impl Fn(u32) -> Option<TableId>) -> Option<u32> {
        self.place(id, id_at).ok().map(|place| self.slots[place])
    }

    /// Takes in a slot whose table has this identity, which is not known yet. Moves the slots behind it.
    pub(crate) fn insert(&mut self, id: TableId, slot: u32, id_at: impl Fn(u32) -> Option<TableId>) {
        let (Ok(place) | Err(place)) = self.place(id, id_at);
        let length = self.slots.len() + 1;
        grow_thriftily(&mut self.slots, length);
        self.slots.insert(place, slot);
    }

    /// Takes out the slot of the table with this identity, which still is there, and gives it.
    pub(crate) fn remove(&mut self, id: TableId, id_at: impl Fn(u32) -> Option<TableId>) -> Option<u32> {
        self.place(id, id_at).ok().map(|place| self.slots.remove(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_found_by_identity_until_they_are_taken_out() {
        let ids: Vec<_> = (0..1000u64).map(|n| TableId(n.wrapping_mul(0x9E37_79B9_7F4A_7C15))).collect();
        let id_at = |slot: u32| ids.get(slot as usize).copied();
        let mut index = Identities::default();
        (0..1000).for_each(|slot| index.insert(ids[slot as usize], slot, id_at));
        assert_eq!(index.remove(ids[7], id_at), Some(7));
        assert_eq!(index.remove(ids[7], id_at), None);
        for slot in 0..1000 {
            assert_eq!(index.find(ids[slot as usize], id_at), (slot != 7).then_some(slot));
        }
        assert!(index.slots.capacity() <= 1000 + 1000 / 32);
    }
}
