//! Tables whose units live in memory, for the manager's tests.
#![allow(dead_code, reason = "each test file uses its part")]

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use springbloom_filter::{BuiltGroup, KeyDigest, UnitSettings};
use springbloom_manager::{
    BytewiseComparator, Fences, Manager, ManagerSettings, ScopeId, SegmentUse, TableId, TableSpec,
    TableUnits, UnitReadError, UnitSource, UnitVisitor,
};
use springbloom_published_policies::PolicyKind;

/// Generous, because the machine may be busy, and a sanitizer slows it.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// What every table is registered with.
pub(crate) const LOCATOR: &[u8] = b"in memory";

/// Keys of a table are `table * 2^32 + n` for even n below `2 * keys`; odd ones are absent.
pub(crate) fn key(table: u64, n: u64) -> [u8; 8] {
    (table << 32 | n).to_be_bytes()
}

pub(crate) struct MemoryTable {
    pub(crate) id: u64,
    pub(crate) key_space: u64,
    pub(crate) groups: Vec<BuiltGroup>,
    pub(crate) keys_per_segment: u64,
    pub(crate) reads: AtomicU64,
    pub(crate) fail: AtomicBool,
    pub(crate) corrupt: AtomicBool,
    pub(crate) panic: AtomicBool,
}

impl MemoryTable {
    pub(crate) fn new(id: u64, segments: u64, keys_per_segment: u64) -> Arc<Self> {
        Self::over_keys_of(id, id, segments, keys_per_segment)
    }

    /// Another table, `id`, with the keys of the table `key_space`.
    pub(crate) fn over_keys_of(key_space: u64, id: u64, segments: u64, keys_per_segment: u64) -> Arc<Self> {
        Self::built_with(UnitSettings::bloom(6, 4).unwrap(), key_space, id, segments, keys_per_segment)
    }

    /// The same with units of other settings.
    pub(crate) fn built_with(
        units: UnitSettings,
        key_space: u64,
        id: u64,
        segments: u64,
        keys_per_segment: u64,
    ) -> Arc<Self> {
        let groups = (0..segments)
            .map(|segment| {
                let from = segment * keys_per_segment;
                let digests: Vec<_> =
                    (from..from + keys_per_segment).map(|n| KeyDigest::of(&key(key_space, 2 * n))).collect();
                units.build(&digests)
            })
            .collect();
        Arc::new(Self {
            id,
            key_space,
            groups,
            keys_per_segment,
            reads: AtomicU64::new(0),
            fail: AtomicBool::new(false),
            corrupt: AtomicBool::new(false),
            panic: AtomicBool::new(false),
        })
    }

    pub(crate) fn spec(self: &Arc<Self>, level: Option<u8>) -> TableSpec<'static> {
        let firsts = (0..self.groups.len() as u64)
            .map(|segment| key(self.key_space, 2 * segment * self.keys_per_segment));
        let end = 2 * self.groups.len() as u64 * self.keys_per_segment;
        let last_key = key(self.key_space, end.saturating_sub(2));
        TableSpec {
            id: TableId(self.id),
            scope: ScopeId(1),
            level,
            comparator: Some(&BytewiseComparator),
            shapes: self.groups.iter().map(|group| group.shape).collect(),
            fences: Fences::pack(firsts, Some(&last_key), true).unwrap(),
            source: self.clone(),
            locator: LOCATOR,
            index_bytes: 0,
            warm_start: None,
        }
    }

    /// Bytes of one unit of the whole table.
    pub(crate) fn row_bytes(&self) -> usize {
        self.groups.iter().map(|group| group.shape.unit_bytes()).sum()
    }
}

impl UnitSource for MemoryTable {
    fn read_unit(&self, table: TableUnits<'_>, segment: u32, unit: u8) -> Result<Vec<u8>, UnitReadError> {
        assert_eq!((table.locator, table.shapes.len()), (LOCATOR, self.groups.len()));
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.unit(segment, unit)
    }

    fn read_rows(
        &self,
        table: TableUnits<'_>,
        units: Range<u8>,
        visit: UnitVisitor<'_>,
    ) -> Result<(), UnitReadError> {
        assert_eq!((table.locator, table.shapes.len()), (LOCATOR, self.groups.len()));
        self.reads.fetch_add(1, Ordering::Relaxed);
        for unit in units {
            for segment in 0..table.shapes.len() as u32 {
                match self.unit(segment, unit) {
                    Ok(bytes) => visit(segment, unit, Ok(&bytes)),
                    Err(error) => visit(segment, unit, Err(error)),
                }
            }
        }
        Ok(())
    }
}

impl MemoryTable {
    fn unit(&self, segment: u32, unit: u8) -> Result<Vec<u8>, UnitReadError> {
        if self.panic.load(Ordering::Relaxed) {
            panic!("a source that panics (expected by the test)");
        }
        if self.fail.load(Ordering::Relaxed) {
            return Err(UnitReadError::Io(std::io::Error::other("pulled the plug")));
        }
        if self.corrupt.load(Ordering::Relaxed) {
            return Err(UnitReadError::Corrupt("checksum".into()));
        }
        Ok(self.groups[segment as usize].units[usize::from(unit)].clone())
    }
}

pub(crate) fn manager(budget_bytes: usize, policy: PolicyKind) -> Arc<Manager> {
    policy.manager(ManagerSettings { budget_bytes, ..ManagerSettings::default() })
}

/// Use of each segment of a table; `None` if it is not known.
pub(crate) fn table_use(manager: &Manager, id: TableId) -> Option<Vec<SegmentUse>> {
    let mut found = None;
    manager.visit_uses(ScopeId(0)..ScopeId(u64::MAX), |table, uses| {
        found = if table.id == id { Some(uses) } else { found.take() };
    });
    found
}

/// Known tables that no reader has open.
pub(crate) fn closed_tables(manager: &Manager) -> Vec<TableId> {
    let mut closed = Vec::new();
    manager.visit_tables(|table| closed.extend((!table.is_open).then_some(table.id)));
    closed
}
