//! Finds a table by its identity. A sorted list of places, about four bytes a table where a hash table would take ten; the identities lie
//! with the tables, where `id_at` reads them. Searched when tables are opened and forgotten, never by a lookup.

use crate::memory::{ALLOCATION_BYTES, grow_thriftily, thrifty_bytes};
use crate::names::TableId;

/// Most slots that stand behind one another in one allocation, so that a table that comes or goes moves few.
const RUN_MAX: usize = 512;
/// Neighbouring runs that have fewer slots together become one.
const RUN_MIN: usize = RUN_MAX / 4;

/// An index of the tables that are known.
#[derive(Default)]
pub(crate) struct Identities {
    /// None is empty.
    runs: Vec<Vec<u32>>,
}

impl Identities {
    /// Bytes of a table; two runs have [`RUN_MIN`] slots at least.
    pub(crate) const TABLE_BYTES: usize =
        thrifty_bytes::<u32>() + (2 * (size_of::<Vec<u32>>() + ALLOCATION_BYTES)).div_ceil(RUN_MIN);

    /// The run in which the table with this identity stands, or would stand, and where it does or would there.
    fn place(&self, id: TableId, id_at: impl Fn(u32) -> Option<TableId>) -> (usize, Result<usize, usize>) {
        let behind = self.runs.partition_point(|run| run.first().and_then(|&slot| id_at(slot)) <= Some(id));
        let run = behind.saturating_sub(1);
        let slots = self.runs.get(run).map_or(&[][..], Vec::as_slice);
        (run, slots.binary_search_by_key(&Some(id), |&slot| id_at(slot)))
    }

    /// The slot of the table with this identity. O(log tables).
    pub(crate) fn find(&self, id: TableId, id_at: impl Fn(u32) -> Option<TableId>) -> Option<u32> {
        let (run, place) = self.place(id, id_at);
        place.ok().map(|place| self.runs[run][place])
    }

    /// Takes in a slot whose table has this identity, which is not known yet.
    pub(crate) fn insert(&mut self, id: TableId, slot: u32, id_at: impl Fn(u32) -> Option<TableId>) {
        let (run, Ok(place) | Err(place)) = self.place(id, id_at);
        if self.runs.is_empty() {
            self.runs.push(Vec::new());
        }
        let slots = &mut self.runs[run];
        let length = slots.len() + 1;
        grow_thriftily(slots, length);
        slots.insert(place, slot);
        if slots.len() > RUN_MAX {
            let upper = slots.split_off(RUN_MAX / 2);
            slots.shrink_to_fit();
            let length = self.runs.len() + 1;
            grow_thriftily(&mut self.runs, length);
            self.runs.insert(run + 1, upper);
        }
    }

    /// Takes out the slot of the table with this identity, which still is there, and gives it.
    pub(crate) fn remove(&mut self, id: TableId, id_at: impl Fn(u32) -> Option<TableId>) -> Option<u32> {
        let (run, place) = self.place(id, id_at);
        let slot = self.runs.get_mut(run)?.remove(place.ok()?);
        let length = |run: usize| self.runs.get(run).map_or(RUN_MAX, Vec::len);
        if let Some(first) = [run, run.wrapping_sub(1)]
            .into_iter()
            .find(|&first| length(first).saturating_add(length(first.wrapping_add(1))) < RUN_MIN)
        {
            let second = self.runs.remove(first + 1);
            self.runs[first].extend(second);
        }
        // Thrift comes before speed when tables go.
        let slots =
            self.runs.get_mut(run).filter(|slots| slots.capacity() > slots.len() + slots.len() / 16 + 1);
        if let Some(slots) = slots {
            slots.shrink_to_fit();
        }
        self.runs.retain(|run| !run.is_empty());
        Some(slot)
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
        let capacity: usize = index.runs.iter().map(Vec::capacity).sum();
        assert!(capacity <= 1000 + 1000 / 16, "{capacity}");
        (0..1000).filter(|&slot| slot != 7).for_each(|slot| _ = index.remove(ids[slot as usize], id_at));
        assert!(index.runs.is_empty());
    }
}
