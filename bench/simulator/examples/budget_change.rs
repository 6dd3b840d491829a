//! What a budget change costs with many tables, under each policy: the time of the call, and the longest that another thread waits for the
//! manager until all has come to rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use springbloom_filter::{BuiltGroup, KeyDigest, UnitSettings};
use springbloom_manager::{
    BytewiseOrder, Fences, Manager, ManagerSettings, ScopeId, TableHandle, TableId, TableSpec, TableUnits,
    UnitReadError, UnitSource,
};
use springbloom_policies::PolicyKind;

const IDLE_TIMEOUT: Duration = Duration::from_secs(200);

/// The same units for every table.
struct Units(BuiltGroup);

impl UnitSource for Units {
    fn read_unit(&self, _table: TableUnits<'_>, _segment: u32, unit: u8) -> Result<Vec<u8>, UnitReadError> {
        Ok(self.0.units[usize::from(unit)].clone())
    }
}

fn register(manager: &Manager, level: Option<u8>, table: u64, units: &Arc<Units>) -> TableHandle {
    let [first, last] = [0, 900].map(|n| format!("user{:012}", table * 1000 + n));
    let handle = manager.register(TableSpec {
        id: TableId(table),
        scope: ScopeId(1),
        level,
        order: &BytewiseOrder,
        shapes: vec![units.0.shape; 2],
        fences: Fences::pack([first.as_bytes(), last.as_bytes()], Some(last.as_bytes()), &BytewiseOrder)
            .unwrap(),
        source: units.clone(),
        locator: b"",
        warm_start: None,
    });
    handle.expect("there is room")
}

/// The time of the call that takes a quarter of the budget, and the longest that another thread waited for the manager until all came to
/// rest.
fn lowering(policy: PolicyKind, tables: u64, level: fn(u64) -> Option<u8>) -> (Duration, Duration) {
    let digests: Vec<_> = (0..50u32).map(|n| KeyDigest::of(&n.to_le_bytes())).collect();
    let units = Arc::new(Units(UnitSettings::ribbon(16).unwrap().build(&digests)));
    let budget_bytes = tables as usize * 600;
    let manager = policy.manager(ManagerSettings { budget_bytes, ..ManagerSettings::default() });
    let handles: Vec<_> = (0..tables).map(|n| register(&manager, level(n), n, &units)).collect();
    assert!(manager.wait_idle(IDLE_TIMEOUT), "{policy}");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut longest = Duration::ZERO;
            while !is_over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                assert!(manager.knows(handles[0].id()));
                longest = longest.max(begun.elapsed());
                std::thread::sleep(Duration::from_micros(100));
            }
            longest
        });
        let begun = Instant::now();
        assert_eq!(manager.set_budget_bytes(budget_bytes / 4 * 3), budget_bytes / 4 * 3);
        let call = begun.elapsed();
        assert!(manager.wait_idle(IDLE_TIMEOUT), "{policy}");
        is_over.store(true, Ordering::Relaxed);
        (call, other.join().unwrap())
    })
}

fn main() {
    for policy in PolicyKind::ALL {
        for (levels, level) in [
            ("in levels", (|n| Some((n % 6) as u8 + 1)) as fn(u64) -> Option<u8>),
            ("of unknown level", |_| None),
        ] {
            let [(few, few_waited), (many, many_waited)] =
                [2500, 40_000].map(|tables| lowering(policy, tables, level));
            println!(
                "{policy}, {levels}: 2,500 tables {few:?}, waited {few_waited:?}; 40,000 tables {many:?}, waited {many_waited:?}"
            );
        }
    }
}
