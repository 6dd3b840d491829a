//! Use and allocation outlive the manager: put into a new one, lookups waste what they wasted before.

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{IDLE_TIMEOUT, MemoryTable, key, manager, table_use};
use springbloom_filter::KeyDigest;
use springbloom_manager::{
    BytewiseComparator, Hotness, Manager, Outcome, ScopeId, SegmentUse, TableHandle, TableId, TableSpec,
};
use springbloom_published_policies::PolicyKind;

const TABLES: u64 = 12;
const SEGMENTS: u64 = 8;
const KEYS: u64 = 1000;

fn open(
    manager: &Manager,
    tables: &[Arc<MemoryTable>],
    warm_start: &[Option<Vec<SegmentUse>>],
) -> Vec<TableHandle> {
    let handles = register(manager, tables, warm_start);
    assert!(manager.wait_idle(IDLE_TIMEOUT));
    handles
}

fn register(
    manager: &Manager,
    tables: &[Arc<MemoryTable>],
    warm_start: &[Option<Vec<SegmentUse>>],
) -> Vec<TableHandle> {
    let specs = tables.iter().zip(warm_start).map(|(table, warm_start)| {
        let mut spec = table.spec(Some(2));
        spec.warm_start = warm_start.clone();
        spec
    });
    specs.map(|spec| manager.register(spec).expect("there is room")).collect()
}

/// Opens the tables so soon after each other that the manager plans for all of them together. This thread may be interrupted.
fn open_at_once(
    new_manager: impl Fn() -> Arc<Manager>,
    tables: &[Arc<MemoryTable>],
    warm_start: &[Option<Vec<SegmentUse>>],
) -> (Arc<Manager>, Vec<TableHandle>) {
    for _ in 0..1000 {
        let manager = new_manager();
        let begun = Instant::now();
        let handles = register(&manager, tables, warm_start);
        if begun.elapsed() < Duration::from_millis(1) {
            assert!(manager.wait_idle(IDLE_TIMEOUT));
            return (manager, handles);
        }
    }
    panic!("{} tables are never opened in a millisecond", tables.len());
}

fn uses_of(manager: &Manager, tables: &[Arc<MemoryTable>]) -> Vec<Option<Vec<SegmentUse>>> {
    tables.iter().map(|table| table_use(manager, TableId(table.id))).collect()
}

/// All units that the segments had, and those that they lack now.
fn units_and_missing(had: &[Option<Vec<SegmentUse>>], has: &[Option<Vec<SegmentUse>>]) -> (u32, u32) {
    let units = |uses: &[Option<Vec<SegmentUse>>]| -> Vec<u32> {
        uses.iter().flatten().flatten().map(|segment| segment.units.into()).collect()
    };
    let (had, has) = (units(had), units(has));
    (had.iter().sum(), had.iter().zip(&has).map(|(had, has)| had.saturating_sub(*has)).sum())
}

/// Looks up absent keys, hot segments far more often than others, no faster than the manager learns; gives the wasted reads.
fn look_up(manager: &Manager, handles: &[TableHandle], rounds: u64, seed: u64) -> u64 {
    let mut state = seed;
    let mut wasted = 0;
    for round in 0..rounds {
        assert!(round % 100 != 0 || manager.wait_idle(IDLE_TIMEOUT));
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        let random = state >> 33;
        // The product of two uniforms: half of all visits go to an eighth of the segments.
        let place = (random % 997) * (random / 997 % 997) * (TABLES * SEGMENTS) / (997 * 997);
        let (table, segment) = (place / SEGMENTS, place % SEGMENTS);
        let sought = key(table, 2 * (segment * KEYS + random % KEYS) + 1);
        let handle = &handles[table as usize];
        let segment = handle.segment_of(&sought, &BytewiseComparator);
        let may_match = handle.rejection(segment, KeyDigest::of(&sought)).is_none();
        handle.record(segment, if may_match { Outcome::WastedRead } else { Outcome::Rejected });
        wasted += u64::from(may_match);
    }
    wasted
}

/// Opens tables of which nothing is known, and looks up until much is.
fn open_and_teach(manager: &Manager, tables: &[Arc<MemoryTable>]) -> Vec<TableHandle> {
    let handles = open(manager, tables, &vec![None; tables.len()]);
    for round in 0..20 {
        look_up(manager, &handles, 10_000, round);
        assert!(manager.wait_idle(IDLE_TIMEOUT));
    }
    handles
}

#[test]
fn what_is_remembered_is_resident_after_one_pass_of_loading() {
    for policy in [PolicyKind::Benefit, PolicyKind::MultiQueue] {
        let tables: Vec<_> = (0..TABLES).map(|id| MemoryTable::new(id, SEGMENTS, KEYS)).collect();
        let budget_bytes = 112 << 10;
        let before = manager(budget_bytes, policy);
        let handles = open_and_teach(&before, &tables);
        let wasted_before = look_up(&before, &handles, 50_000, 99);
        assert!(before.wait_idle(IDLE_TIMEOUT));
        let uses = uses_of(&before, &tables);
        assert_eq!(table_use(&before, TableId(1 << 50)), None);

        let (warm, handles) = open_at_once(|| manager(budget_bytes, policy), &tables, &uses);
        let uses_again: Vec<_> =
            tables.iter().map(|table| table_use(&warm, TableId(table.id)).unwrap()).collect();
        let pairs: Vec<_> = uses.iter().flatten().flatten().zip(uses_again.iter().flatten()).collect();
        let units: u32 = pairs.iter().map(|(had, _)| u32::from(had.units)).sum();
        let missing: u32 =
            pairs.iter().map(|(had, has)| u32::from(had.units.saturating_sub(has.units))).sum();
        // Some give way to the copies that loading makes.
        assert!(missing * 32 <= units, "{policy}: {missing} of {units} units are missing");
        for (had, has) in pairs {
            let is_alike = |count: fn(&Hotness) -> f32| {
                (count(&had.hotness) - count(&has.hotness)).abs() <= count(&has.hotness) * 1e-6
            };
            let are_alike = is_alike(|h| h.access_count) && is_alike(|h| h.negatives);
            // Less is in use at first, and free bytes go to further units.
            let may_differ = missing > 0 || had.units != has.units;
            assert!(
                are_alike && (may_differ || is_alike(|h| h.wasted_reads)),
                "{policy}: {had:?} became {has:?}"
            );
        }
        let wasted_warm = look_up(&warm, &handles, 50_000, 99);
        let cold = manager(budget_bytes, policy);
        let handles = open(&cold, &tables, &vec![None; tables.len()]);
        let wasted_cold = 10 * look_up(&cold, &handles, 5_000, 99);
        println!("{policy}: {wasted_before} before, {wasted_warm} warm, {wasted_cold} cold");
        assert!(
            wasted_warm as f64 <= 1.1 * wasted_before as f64,
            "{policy}: {wasted_warm} after {wasted_before}"
        );
        assert!(
            wasted_cold as f64 > 1.05 * wasted_before as f64,
            "{policy}: cold is no worse: {wasted_cold}"
        );
    }
}

/// A slow device opens tables so slowly that free bytes go to further units of those that are there.
#[test]
fn tables_that_come_later_get_what_is_remembered_too() {
    let tables: Vec<_> = (0..TABLES).map(|id| MemoryTable::new(id, SEGMENTS, KEYS)).collect();
    let before = manager(112 << 10, PolicyKind::Benefit);
    let _open = open_and_teach(&before, &tables);
    let uses = uses_of(&before, &tables);
    let warm = manager(112 << 10, PolicyKind::Benefit);
    let open_one = |(table, uses): (&Arc<MemoryTable>, &Option<Vec<SegmentUse>>)| {
        open(&warm, std::slice::from_ref(table), std::slice::from_ref(uses))
    };
    let _also_open: Vec<_> = tables.iter().zip(&uses).flat_map(open_one).collect();
    let (units, missing) = units_and_missing(&uses, &uses_of(&warm, &tables));
    assert!(missing * 8 <= units, "{missing} of {units} units are missing");
}

#[test]
fn what_does_not_fit_the_table_is_ignored() {
    let manager = manager(1 << 20, PolicyKind::Benefit);
    let tables = [MemoryTable::new(1, 4, 100)];
    open(&manager, &tables, &[Some(vec![SegmentUse { units: 200, ..SegmentUse::default() }; 3])]);
    let units = table_use(&manager, TableId(1)).unwrap();
    assert!(units.iter().all(|segment| segment.units <= 6), "{units:?}");
}

#[test]
fn the_memory_curve_follows_the_visits() {
    let manager = manager(160 << 10, PolicyKind::Benefit);
    let tables: Vec<_> = (0..TABLES).map(|id| MemoryTable::new(id, SEGMENTS, KEYS)).collect();
    assert_eq!(manager.memory_curve().points().len(), 1, "nothing is known yet");
    let _open = open_and_teach(&manager, &tables);
    let (curve, stats) = (manager.memory_curve(), manager.stats());
    assert!((curve.points()[0].wasted_reads_per_visit - 1.0).abs() < 1e-6, "all visits were for absent keys");
    let (best, now) =
        (curve.wasted_reads_per_visit(stats.budget_bytes as u64), stats.expected_wasted_reads_per_visit);
    // The curve is scaled by the wasted reads that were counted, the allocation is not.
    assert!(best <= 1.25 * now && now <= 1.4 * best, "the curve says {best}, the allocation has {now}");
    let half = curve.wasted_reads_per_visit(stats.budget_bytes as u64 / 2);
    assert!(half > 1.5 * best, "{half} with half the memory, {best} with all of it");
}

/// Looks up in each segment of a table once.
fn visit_all(handle: &TableHandle) {
    (0..SEGMENTS as u32).for_each(|segment| handle.record(segment, Outcome::Rejected));
}

/// A database that closes takes in what the background thread has just begun to take in.
#[test]
fn no_visits_are_missed_that_the_thread_takes_in_at_the_time() {
    let table = MemoryTable::new(0, SEGMENTS, 100);
    let manager = manager(1 << 20, PolicyKind::Benefit);
    for round in 1..=500 {
        let handle = manager.register(table.spec(Some(0))).expect("there is room");
        // It hands its visits on when it ends.
        std::thread::scope(|scope| {
            scope.spawn(|| visit_all(&handle)).join().expect("it visits");
        });
        let forgotten = manager.forget_scopes(ScopeId(0)..ScopeId(u64::MAX), |_, _| ());
        assert_eq!(forgotten.activity.counts.rejected, SEGMENTS, "round {round}");
    }
}

#[test]
fn visits_to_scopes_are_taken_in_when_they_are_forgotten_and_those_to_others_stay() {
    let tables: Vec<_> = (0..3).map(|id| MemoryTable::new(id, SEGMENTS, 100)).collect();
    let manager = manager(1 << 20, PolicyKind::Benefit);
    let register = |table: usize, scope: u64| {
        let spec = TableSpec { scope: ScopeId(scope), ..tables[table].spec(Some(table as u8)) };
        manager.register(spec).expect("there is room")
    };
    let handles = [(0, 7), (1, 7), (2, 8)].map(|(table, scope)| register(table, scope));
    assert!(manager.wait_idle(IDLE_TIMEOUT));
    assert!(manager.take_visited().is_empty());
    let scope = |scope| ScopeId(scope)..ScopeId(scope + 1);
    // Another thread's, which hands them on when it ends.
    std::thread::scope(|scope| {
        scope.spawn(|| handles.iter().for_each(visit_all)).join().expect("it visits");
    });
    handles.iter().for_each(visit_all);
    let none = manager.forget_scopes(scope(9), |_, _| panic!("it has no tables"));
    assert!(!none.is_visited && none.tables.is_empty());
    let mut seen = Vec::new();
    let forgotten = manager.forget_scopes(scope(7), |table, uses| {
        assert!(uses.iter().all(|segment| segment.hotness.access_count >= 1.0), "{uses:?}");
        seen.push(table.id);
    });
    seen.sort();
    assert_eq!(seen, [TableId(0), TableId(1)]);
    assert_eq!(seen.len(), forgotten.tables.len());
    assert!(forgotten.is_visited && seen.iter().all(|id| forgotten.tables.contains(id)));
    assert_eq!(forgotten.activity.counts.rejected, 4 * SEGMENTS);
    assert!(!manager.knows(TableId(1)) && manager.knows(TableId(2)));

    assert!(manager.wait_idle(IDLE_TIMEOUT));
    let counts = manager.visit_uses(scope(8), |_, _| ()).counts;
    assert_eq!(counts.rejected, 2 * SEGMENTS, "each is taken in once");
    assert_eq!(manager.take_visited().into_iter().collect::<Vec<_>>(), [ScopeId(8)]);
    assert!(!manager.forget_scopes(scope(8), |_, _| ()).is_visited, "not since then");
}
