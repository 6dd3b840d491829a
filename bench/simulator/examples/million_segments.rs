//! CPU cost of learning with a million segments. Registers tables, looks up keys with a Zipf-like skew in one thread, and compares the CPU
//! time of the manager's thread with the elapsed time (Linux: from `/proc`).
//!
//! `cargo run --release -p springbloom-simulator --example million_segments [TABLES]`: default 250,000 tables of 4 segments.

use std::sync::Arc;
use std::time::{Duration, Instant};

use springbloom_filter::{BuiltGroup, KeyDigest, UnitSettings};
use springbloom_manager::{
    BytewiseOrder, Fences, Manager, ManagerSettings, Outcome, ScopeId, TableHandle, TableId, TableSpec,
    TableUnits, UnitReadError, UnitSource,
};
use springbloom_workload::hash::mix;

const SEGMENTS: u64 = 4;
/// Few keys, so that a million filters fit. Learning does not depend on it.
const KEYS: u64 = 128;
const PHASE: Duration = Duration::from_secs(10);

/// The same units for every segment. Outcomes of lookups are drawn, so that segments behave as if they had their own keys.
struct Units(BuiltGroup);

impl UnitSource for Units {
    fn read_unit(&self, _table: TableUnits<'_>, _segment: u32, unit: u8) -> Result<Vec<u8>, UnitReadError> {
        Ok(self.0.units[usize::from(unit)].clone())
    }
}

fn key(table: u64, segment: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&(table * SEGMENTS + segment).to_be_bytes());
    key
}

fn register(manager: &Manager, table: u64, units: &Arc<Units>) -> TableHandle {
    let firsts = (0..SEGMENTS).map(|segment| key(table, segment));
    let handle = manager.register(TableSpec {
        id: TableId(table),
        scope: ScopeId(1),
        level: Some(1),
        order: &BytewiseOrder,
        shapes: vec![units.0.shape; SEGMENTS as usize],
        fences: Fences::pack(firsts, Some(&key(table + 1, 0)[..15]), &BytewiseOrder).expect("they are short"),
        source: units.clone(),
        locator: &[],
        warm_start: None,
    });
    handle.expect("the budget has room for every table")
}

/// CPU time of the manager's thread so far.
fn manager_thread_cpu() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux tells about threads");
    let nanoseconds = tasks.filter_map(Result::ok).find_map(|task| {
        let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
        let times = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        (name.trim() == "springbloom").then(|| times.split(' ').next()?.parse().ok())?
    });
    Duration::from_nanos(nanoseconds.expect("the manager has a thread"))
}

/// Performs lookups for a while, at a maximum rate of visits per second, and prints the cost.
fn phase(name: &str, manager: &Manager, handles: &[TableHandle], visits_per_second: Option<u64>) {
    let (begun, cpu_before, before) = (Instant::now(), manager_thread_cpu(), manager.stats());
    let mut state = 1u64;
    let mut visits = 0u64;
    while begun.elapsed() < PHASE {
        for _ in 0..1000 {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let (a, b) = (mix(state), mix(state ^ 0x5555));
            // The cube of a uniform number: a tenth of the segments gets half of the visits.
            let skewed = ((a >> 40) as f64 / (1u64 << 24) as f64).powi(3);
            let at = mix((skewed * (handles.len() as u64 * SEGMENTS) as f64) as u64)
                % (handles.len() as u64 * SEGMENTS);
            let handle = &handles[(at / SEGMENTS) as usize];
            let segment = (at % SEGMENTS) as u32;
            let rejection = handle.rejection(segment, KeyDigest { lo: a, hi: b });
            handle.record(
                segment,
                rejection.unwrap_or(if b % 4 == 0 { Outcome::TruePositive } else { Outcome::WastedRead }),
            );
        }
        visits += 1000;
        if let Some(rate) = visits_per_second {
            std::thread::sleep(
                Duration::from_nanos(1_000_000_000 / rate * visits).saturating_sub(begun.elapsed()),
            );
        }
    }
    let (elapsed, cpu, after) = (begun.elapsed(), manager_thread_cpu() - cpu_before, manager.stats());
    println!(
        "{name}: {:.2} M visits/s, one in {} learned from at the end; \
         the manager's thread took {:.2}% of a core, loads included ({} units)",
        visits as f64 / elapsed.as_secs_f64() / 1e6,
        after.sampled_one_in,
        100.0 * cpu.as_secs_f64() / elapsed.as_secs_f64(),
        after.loads - before.loads,
    );
}

fn main() {
    let tables =
        std::env::args().nth(1).map_or(250_000, |tables| tables.parse().expect("a number of tables"));
    let digests: Vec<_> = (0..KEYS).map(|n| KeyDigest::of(&n.to_le_bytes())).collect();
    let units = Arc::new(Units(UnitSettings::default().build(&digests)));
    let unit_bytes = units.0.shape.unit_bytes() as u64;
    let budget_bytes = tables * SEGMENTS * (100 + 6 * unit_bytes);
    let manager =
        Manager::new(ManagerSettings { budget_bytes: budget_bytes as usize, ..ManagerSettings::default() });
    let begun = Instant::now();
    let mut handles: Vec<_> = (0..tables).map(|table| register(&manager, table, &units)).collect();
    assert!(manager.wait_idle(Duration::from_secs(600)), "the first units are loaded");
    let stats = manager.stats();
    println!(
        "{} segments of {tables} tables: registered and given their first units in {:.1} s; bookkeeping {} B a segment",
        stats.segments,
        begun.elapsed().as_secs_f64(),
        stats.used.bookkeeping / stats.segments,
    );
    let (begun, cpu_before) = (Instant::now(), manager_thread_cpu());
    std::thread::sleep(PHASE);
    let idle = (manager_thread_cpu() - cpu_before).as_secs_f64() / begun.elapsed().as_secs_f64();
    println!("idle: {:.2}% of a core", 100.0 * idle);
    phase("100,000 visits/s", &manager, &handles, Some(100_000));
    phase("as fast as one thread can", &manager, &handles, None);
    let begun = Instant::now();
    handles.push(register(&manager, tables, &units));
    println!("one more table, with what it inherits: {:.1} ms", begun.elapsed().as_secs_f64() * 1e3);
}
