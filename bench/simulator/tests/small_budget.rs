//! A budget without room for a second copy of a group. Units are then read again. `benefit` must still cost no more reads than `uniform`,
//! unit reads included, for every workload.

mod common;

use std::sync::Arc;

use springbloom_filter::{BuiltGroup, KeyDigest, UnitSettings};
use springbloom_manager::{
    BytewiseComparator, Fences, Manager, ManagerSettings, Outcome, ScopeId, TableHandle, TableId, TableSpec,
    TableUnits, UnitReadError, UnitSource,
};
use springbloom_published_policies::PolicyKind;
use springbloom_simulator::Lookup;
use springbloom_workload::hash::{mix, unit_interval};
use springbloom_workload::{Distribution, Movement};

use common::{Popularity, lookups};
use std::time::Duration;

const IDLE_TIMEOUT: Duration = Duration::from_secs(20);
/// Tables of one segment each, in two levels.
const TABLES: [u64; 2] = [6, 50];
const KEYS_PER_TABLE: u64 = 8000;

/// A table with the digests that [`digest`] gives for its own numbers. Lookups use other numbers.
struct Units(BuiltGroup);

impl UnitSource for Units {
    fn read_unit(&self, _table: TableUnits<'_>, _segment: u32, unit: u8) -> Result<Vec<u8>, UnitReadError> {
        Ok(self.0.units[usize::from(unit)].clone())
    }
}

fn digest(n: u64) -> KeyDigest {
    KeyDigest::of(&n.to_le_bytes())
}

struct Store {
    manager: Arc<Manager>,
    levels: [Vec<TableHandle>; 2],
}

impl Store {
    fn new(groups: &[Vec<BuiltGroup>; 2], policy: PolicyKind, budget_bytes: usize) -> Self {
        let manager = policy.manager(ManagerSettings { budget_bytes, ..ManagerSettings::default() });
        let register = |level: usize, table: usize| {
            let group = groups[level][table].clone();
            let id = (level * 1000 + table) as u64;
            let handle = manager.register(TableSpec {
                id: TableId(id),
                scope: ScopeId(1),
                level: Some(level as u8 + 2),
                comparator: Some(&BytewiseComparator),
                shapes: vec![group.shape],
                fences: Fences::pack([(table as u64).to_be_bytes()], None, true).unwrap(),
                source: Arc::new(Units(group)),
                locator: &[],
                index_bytes: 0,
                warm_start: None,
            });
            handle.expect("there is room")
        };
        let levels =
            [0, 1].map(|level| (0..groups[level].len()).map(|table| register(level, table)).collect());
        assert!(manager.wait_idle(IDLE_TIMEOUT));
        Self { manager, levels }
    }

    /// The wasted reads of a key.
    fn look_up(&self, lookup: Lookup) -> u64 {
        let key = lookup.key;
        let position = unit_interval(key ^ 0x5555);
        let home = if lookup.is_absent { usize::MAX } else { usize::from(unit_interval(key ^ 0xABCD) < 0.9) };
        let mut wasted = 0;
        for (level, tables) in self.levels.iter().enumerate() {
            let handle = &tables[(position * tables.len() as f64) as usize];
            if level == home {
                handle.record(0, Outcome::TruePositive);
                break;
            }
            let outcome = handle.rejection(0, digest(mix(key))).unwrap_or(Outcome::WastedRead);
            wasted += u64::from(outcome == Outcome::WastedRead);
            handle.record(0, outcome);
        }
        wasted
    }

    /// Reads of data and of units per lookup.
    fn run(&self, popularity: Popularity, count: usize) -> (f64, f64) {
        let mut lookups = lookups(popularity, TABLES.iter().sum::<u64>() * KEYS_PER_TABLE, 7);
        let mut pass = || -> u64 {
            let numbered = lookups.by_ref().take(count).enumerate();
            numbered
                .map(|(n, lookup)| {
                    // As in a store, where lookups take longer than learning from them.
                    assert!(n % 512 != 0 || self.manager.wait_idle(IDLE_TIMEOUT));
                    self.look_up(lookup)
                })
                .sum()
        };
        pass();
        let before = self.manager.stats().load_reads;
        let wasted = pass();
        let loads = self.manager.stats().load_reads - before;
        (wasted as f64 / count as f64, loads as f64 / count as f64)
    }
}

#[test]
fn benefit_costs_no_more_reads_than_uniform() {
    let settings = UnitSettings::default();
    let groups = [0, 1].map(|level: u64| {
        let table = |table: u64| {
            let first = (level << 32 | table << 16) * KEYS_PER_TABLE;
            let digests: Vec<_> = (first..first + KEYS_PER_TABLE).map(digest).collect();
            settings.build(&digests)
        };
        (0..TABLES[level as usize]).map(table).collect::<Vec<_>>()
    });
    for budget_bytes in [64 << 10, 220 << 10] {
        for (name, popularity) in [
            ("uniform", Popularity::still(Distribution::Uniform)),
            ("zipf .99", Popularity::still(Distribution::Zipf { exponent: 0.99 })),
            (
                "drifting",
                Popularity::moving(
                    Distribution::Zipf { exponent: 1.2 },
                    Movement::Drift { period_ops: 25_000 },
                ),
            ),
            (
                "jumping fast",
                Popularity::moving(Distribution::Zipf { exponent: 1.2 }, Movement::Jump { period_ops: 5000 }),
            ),
        ] {
            let of = |policy| Store::new(&groups, policy, budget_bytes).run(popularity, 60_000);
            let ((uniform, _), (wasted, loads)) = (of(PolicyKind::Uniform), of(PolicyKind::Benefit));
            println!(
                "{budget_bytes} B, {name}: uniform {uniform:.4}, benefit {wasted:.4} + {loads:.4} loads"
            );
            assert!(
                wasted + loads <= 1.02 * uniform,
                "{budget_bytes} B, {name}: {wasted} + {loads} against {uniform}"
            );
        }
    }
}
