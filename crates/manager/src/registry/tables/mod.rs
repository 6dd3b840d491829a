//! The known tables: where each one stands, its identity, its keys and the source of its units.

mod table;

pub(crate) use table::{QueueLink, Table};

use std::ops::Range;
use std::sync::Arc;

use crate::budget::{MemoryBudget, MemoryKind};
use crate::keys::KeyRange;
use crate::lookup::{Lookups, TableIndex, TableShared};
use crate::memory::{grow_thriftily, shrink_thriftily, thrifty_bytes};
use crate::names::{ScopeId, TableId};
use crate::plan::Run;
use crate::plan::neighbours::Neighbours;
use crate::table_spec::TableSpec;
use crate::unit_source::{KnownTable, Place, Sources, UnitSource};
use crate::visits::TABLES_MAX;

/// A forgotten table that a reader still has open. No other gets its slot meanwhile, by which the host knows what readers have open.
struct ForgottenTable {
    shared: TableShared,
    source: u32,
    /// Reserved for its bookkeeping.
    bytes: usize,
}

/// The known tables by slot, and the forgotten ones until their readers are closed.
pub(crate) struct Tables {
    slots: Vec<Option<Table>>,
    free_slots: Vec<u32>,
    last_generation: u32,
    /// Slots of known tables, by their identities: four bytes a table where a hash table would take ten.
    by_id: Vec<u32>,
    neighbours: Neighbours,
    sources: Sources,
    /// Sources that no table has any more. The thread that locked the registry drops them without the lock: the host's code runs then.
    retired: Vec<Arc<dyn UnitSource>>,
    forgotten: Vec<ForgottenTable>,
    budget: MemoryBudget,
}

fn id_at(slots: &[Option<Table>], slot: u32) -> Option<TableId> {
    slots.get(slot as usize)?.as_ref().map(|table| table.shared.id())
}

fn keys_at(slots: &[Option<Table>], slot: u32) -> Option<KeyRange<'_>> {
    KeyRange::of_table(slots.get(slot as usize)?.as_ref()?.shared.fences())
}

impl Tables {
    /// Bytes of a table in these lists.
    pub(crate) const TABLE_BYTES: usize =
        thrifty_bytes::<Option<Table>>() + thrifty_bytes::<u32>() + Neighbours::TABLE_BYTES;

    pub(crate) fn new(budget: MemoryBudget) -> Self {
        Self {
            slots: Vec::new(),
            free_slots: Vec::new(),
            last_generation: 0,
            by_id: Vec::new(),
            neighbours: Neighbours::default(),
            sources: Sources::default(),
            retired: Vec::new(),
            forgotten: Vec::new(),
            budget,
        }
    }

    /// Where in the list by identities a table stands, or would.
    fn rank_of(&self, id: TableId) -> Result<usize, usize> {
        self.by_id.binary_search_by_key(&Some(id), |&slot| id_at(&self.slots, slot))
    }

    /// The slot of a table; `None` if it is not known.
    pub(crate) fn slot_of(&self, id: TableId) -> Option<u32> {
        self.rank_of(id).ok().map(|place| self.by_id[place])
    }

    pub(crate) fn get(&self, slot: u32) -> Option<&Table> {
        self.slots.get(slot as usize)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut Table> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    /// The table in the slot, if it is the one of this registration.
    pub(crate) fn get_registered(&self, slot: u32, generation: u32) -> Option<&Table> {
        self.get(slot).filter(|table| table.shared.generation() == generation)
    }

    /// All tables with their slots.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Table)> {
        (0..).zip(&self.slots).filter_map(|(slot, table)| Some((slot, table.as_ref()?)))
    }

    /// The place of a table's index.
    pub(crate) fn index(&self, slot: u32) -> Option<&TableIndex> {
        self.get(slot)?.shared.index()
    }

    /// All places of indexes with the slots of their tables.
    pub(crate) fn indexes(&self) -> impl Iterator<Item = (u32, &TableIndex)> {
        self.iter().filter_map(|(slot, table)| Some((slot, table.shared.index()?)))
    }

    pub(crate) fn has_free_slot(&self) -> bool {
        self.slots.len() < TABLES_MAX || !self.free_slots.is_empty()
    }

    /// The registration that came last: another number than before if one came.
    pub(crate) fn last_generation(&self) -> u32 {
        self.last_generation
    }

    /// Adds a table that is not known yet, and returns its slot.
    pub(crate) fn insert(&mut self, spec: &TableSpec, lookups: Arc<Lookups>) -> u32 {
        let slot = self.free_slots.pop().unwrap_or(self.slots.len() as u32);
        self.last_generation = self.last_generation.saturating_add(1);
        let table = Table {
            shared: TableShared::new(slot, self.last_generation, spec, lookups),
            source: self.sources.intern(spec.source.clone(), Arc::ptr_eq),
            queue_link: QueueLink::NOT,
        };
        if slot as usize == self.slots.len() {
            grow_thriftily(&mut self.slots, slot as usize + 1);
            self.slots.push(None);
        }
        self.slots[slot as usize] = Some(table);
        let (Ok(place) | Err(place)) = self.rank_of(spec.id);
        let Self { slots, by_id, neighbours, .. } = self;
        let length = by_id.len() + 1;
        grow_thriftily(by_id, length);
        by_id.insert(place, slot);
        let keys = |slot| keys_at(slots, slot);
        match spec.is_bytewise() {
            true => neighbours.insert(slot, Run { scope: spec.scope, level: spec.level }, &keys),
            false => neighbours.insert_unsorted(slot, spec.scope),
        }
        slot
    }

    /// The table is read from another source from now on.
    pub(crate) fn set_source(&mut self, slot: u32, source: Arc<dyn UnitSource>) {
        let Some(table) = self.slots.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        // Before the old one leaves: it may be the same.
        let source = self.sources.intern(source, Arc::ptr_eq);
        self.retired.extend(self.sources.release(std::mem::replace(&mut table.source, source)));
    }

    /// Tables whose keys a new table overlaps, `most` of each level.
    pub(crate) fn relatives(
        &mut self,
        scope: ScopeId,
        range: KeyRange<'_>,
        most: usize,
        run_of: impl Fn(u32) -> Option<Run>,
    ) -> Vec<u32> {
        let Self { slots, neighbours, .. } = self;
        let keys = |slot| keys_at(slots, slot);
        neighbours.overlapping(scope, range, most, run_of, &keys)
    }

    /// The table moved to another level of its scope.
    pub(crate) fn move_to_another_level(&mut self, slot: u32, scope: ScopeId) {
        self.neighbours.move_to_another_level(slot, scope);
    }

    /// Takes out a table of `scope`.
    pub(crate) fn remove(&mut self, slot: u32, scope: ScopeId) -> Option<Table> {
        let place = self.rank_of(id_at(&self.slots, slot)?).ok()?;
        self.by_id.remove(place);
        shrink_thriftily(&mut self.by_id);
        self.neighbours.remove(slot, scope);
        self.slots[slot as usize].take()
    }

    /// Keeps a table that was taken out, and whose cells are empty, until no reader has it open: then its `bytes` return to the budget.
    pub(crate) fn keep_forgotten(&mut self, table: Table, bytes: usize) {
        let Table { shared, source, .. } = table;
        self.forgotten.push(ForgottenTable { shared, source, bytes });
        self.collect();
    }

    /// Frees the forgotten tables that no reader has open any more.
    pub(crate) fn collect(&mut self) {
        let free = self.forgotten.extract_if(.., |table| table.shared.is_closed());
        free.for_each(|ForgottenTable { shared, source, bytes }| {
            self.free_slots.push(shared.slot());
            // Memory first, bytes of the budget after it: the budget must never be exceeded.
            drop(shared);
            self.retired.extend(self.sources.release(source));
            self.budget.release(MemoryKind::Bookkeeping, bytes);
        });
    }

    /// The sources that no table has any more since the last call.
    pub(crate) fn take_retired(&mut self) -> Vec<Arc<dyn UnitSource>> {
        std::mem::take(&mut self.retired)
    }

    /// The tables in these slots.
    pub(crate) fn ids_in(&self, slots: &[u32]) -> Vec<TableId> {
        slots.iter().filter_map(|&slot| id_at(&self.slots, slot)).collect()
    }

    /// The slots of all tables of some scopes. O(log scopes + these tables).
    pub(crate) fn slots_of(&self, scopes: Range<ScopeId>) -> Vec<u32> {
        self.neighbours.tables_of(scopes)
    }

    /// Where reads of a source go.
    pub(crate) fn place_of(&self, source: u32) -> Place {
        let told = self.sources.get(source).and_then(|source| source.place());
        told.unwrap_or_else(|| Place::of_source(source))
    }

    pub(crate) fn source_of(&self, table: &Table) -> Option<&Arc<dyn UnitSource>> {
        self.sources.get(table.source)
    }

    /// A table for the host that it is from.
    pub(crate) fn as_known<'a>(&'a self, table: &'a Table) -> Option<KnownTable<'a>> {
        let shared = &table.shared;
        let source = self.source_of(table)?;
        Some(KnownTable { id: shared.id(), source, locator: shared.locator(), is_open: !shared.is_closed() })
    }
}
