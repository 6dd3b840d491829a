//! A whole manager over the lookups of a tree. Its budget pays for bookkeeping and buffers, and its own thread loads
//! the units.

use std::sync::Arc;
use std::time::Duration;

use springbloom_filter::KeyDigest;
use springbloom_manager::{
    BytewiseComparator, Fences, Manager, ManagerSettings, Outcome, ScopeId, TableHandle, TableId, TableSpec,
    TableUnits, UnitReadError, UnitSource,
};
use springbloom_workload::hash::mix;

use crate::{FamilyRun, Lookup, Lookups, Rewriting, Tree};

/// A manager that knows all tables of a tree.
pub struct Managed<'a> {
    tree: &'a Tree,
    source: Arc<dyn UnitSource>,
    tables: Vec<Table>,
    rewriting: Option<Rewriting>,
    lookups: u64,
    next_id: u64,
    /// Of the last run.
    pub families: Vec<FamilyRun>,
    /// The manager, as in the store.
    pub manager: Arc<Manager>,
}

struct Table {
    handle: TableHandle,
    /// Times that it was rewritten: each time other absent keys pass its units.
    generation: u64,
}

/// The units of one segment serve all segments. A salt per segment makes them different filters.
struct Units(Vec<Vec<u8>>);

impl UnitSource for Units {
    fn read_unit(&self, _table: TableUnits<'_>, _segment: u32, unit: u8) -> Result<Vec<u8>, UnitReadError> {
        Ok(self.0[usize::from(unit)].clone())
    }
}

/// Charge of the RocksDB host for an open reader.
pub const READER_BYTES: usize = 56;

/// Settings of a manager in a store with `tree`, with `bits_per_key` bits of memory for each key.
pub fn settings(tree: &Tree, bits_per_key: f64) -> ManagerSettings {
    ManagerSettings {
        budget_bytes: (tree.keys() as f64 * bits_per_key / 8.0) as usize,
        reader_bytes: READER_BYTES,
        ..ManagerSettings::default()
    }
}

/// Visits between waits for the manager's thread, which samples them when they come too fast. In a store, lookups take longer than learning
/// from them.
const VISITS_PER_WAIT: usize = 2048;
/// Long, because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

impl<'a> Managed<'a> {
    /// `manager`, which knows no table, with all tables of `tree` open; `None` if the budget has no room for the bookkeeping of all.
    ///
    /// # Panics
    /// If the manager's thread does not keep up.
    pub fn new(tree: &'a Tree, manager: Arc<Manager>) -> Option<Self> {
        let source: Arc<dyn UnitSource> = Arc::new(Units(tree.group.units.clone()));
        let mut managed = Self {
            tree,
            source,
            tables: Vec::new(),
            rewriting: None,
            lookups: 0,
            next_id: 0,
            families: Vec::new(),
            manager,
        };
        for (level, tables) in tree.tables().enumerate() {
            for nth in 0..tables {
                let handle = managed.open(level, nth)?;
                managed.tables.push(Table { handle, generation: 0 });
            }
        }
        assert!(managed.manager.wait_idle(PATIENCE), "the first units are loaded");
        Some(managed)
    }

    /// From now on compaction rewrites tables.
    pub fn rewrite_tables(&mut self, rewriting: Rewriting) {
        self.rewriting = Some(rewriting);
    }

    fn open(&mut self, level: usize, nth: u32) -> Option<TableHandle> {
        let tree = self.tree;
        let (family, family_level) = tree.family_of(level);
        let first = nth * tree.table_segments;
        let end = (first + tree.table_segments).min(tree.levels[level]);
        let key = |segment| key_bytes(tree.first_key(level, segment));
        let last = if end == tree.levels[level] { u64::MAX } else { tree.first_key(level, end) - 1 };
        let last = key_bytes(last);
        self.next_id += 1;
        let spec = TableSpec {
            id: TableId(self.next_id),
            scope: scope(family),
            level: Some(family_level as u8 + 1),
            comparator: Some(&BytewiseComparator),
            shapes: vec![tree.group.shape; (end - first) as usize],
            fences: Fences::pack((first..end).map(key), Some(&last), true).expect("short keys in order"),
            source: self.source.clone(),
            locator: &[],
            index_bytes: 0,
            warm_start: None,
        };
        self.manager.register(spec)
    }

    fn rewrite_due(&mut self, rewriting: Rewriting) {
        let due = rewriting.before(self.tree, self.lookups);
        due.iter().for_each(|&(level, nth)| self.rewrite(level, nth));
        // In a store that takes as long as few lookups.
        assert!(due.is_empty() || self.manager.wait_idle(PATIENCE), "units of new tables are loaded");
    }

    /// Opens a new table over the keys of an old one, which goes.
    fn rewrite(&mut self, level: usize, nth: u32) {
        let number = self.tree.table(level, nth) as usize;
        let old = self.tables[number].handle.id();
        // Without room for both, the old one stays.
        let Some(handle) = self.open(level, nth) else { return };
        self.tables[number].handle = handle;
        self.tables[number].generation += 1;
        self.manager.forget(old);
    }

    /// Does `count` lookups, and gives the wasted reads per lookup.
    ///
    /// # Panics
    /// If the manager's thread does not keep up.
    pub fn run(&mut self, lookups: &mut Lookups, count: usize) -> f64 {
        self.families = FamilyRun::none(self.tree.families);
        let mut visits = VISITS_PER_WAIT;
        for lookup in lookups.take(count) {
            if visits >= VISITS_PER_WAIT {
                visits = 0;
                assert!(self.manager.wait_idle(PATIENCE), "the manager keeps up");
            }
            if let Some(rewriting) = self.rewriting {
                self.rewrite_due(rewriting);
            }
            self.lookups += 1;
            let seen = self.look_up(lookup);
            visits += seen.visits;
            let family = &mut self.families[lookup.family];
            family.lookups += 1;
            family.wasted_reads += seen.wasted_reads as f64;
        }
        assert!(self.manager.wait_idle(PATIENCE), "the manager keeps up");
        let stats = self.manager.stats();
        for (family, run) in self.families.iter_mut().enumerate() {
            let levels = stats.scopes.iter().filter(|of| of.scope == scope(family)).flat_map(|of| &of.levels);
            let bytes: usize = levels.map(|level| level.unit_bytes).sum();
            run.resident_bits_per_key = bytes as f64 * 8.0 / self.tree.family_keys() as f64;
        }
        FamilyRun::wasted_per_lookup(&self.families)
    }

    fn look_up(&self, lookup: Lookup) -> Seen {
        let key = key_bytes(lookup.key);
        let digest = KeyDigest::of(&key);
        let mut seen = Seen::default();
        for visit in self.tree.visits(lookup) {
            let (table, segment) = self.tree.place(visit.level, visit.segment);
            let Table { handle, generation } = &self.tables[table as usize];
            seen.visits += 1;
            if visit.is_there {
                handle.record(segment, Outcome::TruePositive);
                continue;
            }
            let digest = salted(digest, visit.level, *generation);
            let answer = handle.may_match(&key, digest, &BytewiseComparator);
            if answer.may_match() {
                handle.record(answer.segment, Outcome::WastedRead);
                seen.wasted_reads += 1;
            }
        }
        seen
    }
}

/// What happened in a lookup.
#[derive(Default)]
struct Seen {
    visits: usize,
    wasted_reads: usize,
}

/// The scope of a family.
fn scope(family: usize) -> ScopeId {
    ScopeId(family as u64 + 1)
}

/// A key meets one segment per level, so a salt per level and generation gives every segment its own filter.
fn salted(digest: KeyDigest, level: usize, generation: u64) -> KeyDigest {
    let salt = mix((generation << 16) + level as u64 + 1);
    KeyDigest { lo: mix(digest.lo ^ salt), hi: mix(digest.hi ^ salt) }
}

/// `user` and 20 decimal digits, as YCSB writes them.
fn key_bytes(key: u64) -> Vec<u8> {
    format!("user{key:020}").into_bytes()
}
