//! What a lookup pays per segment that it visits: the probe and the note, alone and together, with one thread and with several on one
//! segment. Answers are verified.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use springbloom_filter::{BuiltGroup, KeyDigest, UnitSettings};
use springbloom_manager::{
    BytewiseOrder, Fences, Manager, ManagerSettings, Outcome, ScopeId, TableHandle, TableId, TableSpec,
    TableUnits, UnitReadError, UnitSource,
};
use springbloom_policies::PolicyKind;

const KEYS: u64 = 4096;
const UNITS: u8 = 4;

struct InMemory(Vec<BuiltGroup>);

impl UnitSource for InMemory {
    fn read_unit(&self, _table: TableUnits<'_>, segment: u32, unit: u8) -> Result<Vec<u8>, UnitReadError> {
        Ok(self.0[segment as usize].units[usize::from(unit)].clone())
    }
}

fn digest(n: u64) -> KeyDigest {
    KeyDigest::of(&n.to_be_bytes())
}

/// A manager with one table whose segments all have four units of these settings.
fn opened(settings: UnitSettings, segments: u64) -> (Arc<Manager>, TableHandle) {
    let groups: Vec<_> = (0..segments)
        .map(|segment| settings.build(&(0..KEYS).map(|n| digest(segment * KEYS + n)).collect::<Vec<_>>()))
        .collect();
    let manager = PolicyKind::Uniform
        .manager(ManagerSettings { budget_bytes: 256 << 20, ..ManagerSettings::default() });
    let handle = manager
        .register(TableSpec {
            id: TableId(1),
            scope: ScopeId(1),
            level: Some(1),
            order: &BytewiseOrder,
            shapes: groups.iter().map(|group| group.shape).collect(),
            fences: Fences::pack(
                (0..segments).map(|segment| (segment * KEYS).to_be_bytes()),
                None,
                &BytewiseOrder,
            )
            .unwrap(),
            source: Arc::new(InMemory(groups)),
            locator: &[],
            warm_start: None,
        })
        .unwrap();
    assert!(manager.wait_idle(Duration::from_secs(30)));
    assert_eq!(manager.stats().levels[0].segments[usize::from(UNITS)], segments);
    (manager, handle)
}

fn visit(handle: &TableHandle, segment: u32, digest: KeyDigest) -> bool {
    let may_match = handle.rejection(segment, digest).is_none();
    handle.record(segment, if may_match { Outcome::TruePositive } else { Outcome::Rejected });
    may_match
}

fn lookup(criterion: &mut Criterion) {
    let bloom = UnitSettings::bloom(UNITS, 4).unwrap();
    let (_hot_manager, hot) = opened(bloom, 1);
    let present: Vec<_> = (0..64).map(digest).collect();
    let absent: Vec<_> = (0..64).map(|n| digest(1 << 40 | n)).collect();
    assert!(present.iter().all(|&digest| hot.rejection(0, digest).is_none()));
    assert!(absent.iter().filter(|&&digest| hot.rejection(0, digest).is_none()).count() < 8);
    let mut at = 0usize;
    let mut next = |digests: &[KeyDigest]| {
        at = (at + 1) % digests.len();
        digests[at]
    };
    criterion.bench_function("may_match, hot, present, 4 units", |bench| {
        bench.iter(|| hot.rejection(0, black_box(next(&present))).is_none())
    });
    criterion.bench_function("may_match, hot, absent, 4 units", |bench| {
        bench.iter(|| hot.rejection(0, black_box(next(&absent))).is_none())
    });
    criterion.bench_function("record", |bench| bench.iter(|| hot.record(0, black_box(Outcome::Rejected))));
    criterion.bench_function("may_match + record, hot, present", |bench| {
        bench.iter(|| visit(&hot, 0, black_box(next(&present))))
    });
    criterion.bench_function("may_match + record, hot, absent", |bench| {
        bench.iter(|| visit(&hot, 0, black_box(next(&absent))))
    });
    for threads in [2, 16] {
        criterion.bench_function(&format!("may_match + record, one segment, {threads} threads"), |bench| {
            bench.iter_custom(|iterations| {
                let begun = Instant::now();
                std::thread::scope(|scope| {
                    for _ in 0..threads {
                        scope.spawn(|| {
                            for n in 0..iterations / threads {
                                black_box(visit(&hot, 0, absent[n as usize % 64]));
                            }
                        });
                    }
                });
                begun.elapsed()
            })
        });
    }
    let segments = 4096;
    let (_cold_manager, cold) = opened(bloom, segments);
    let mut n = 0u64;
    criterion.bench_function("may_match + record, 4096 segments in turn, absent", |bench| {
        bench.iter(|| {
            n = n.wrapping_add(0x9E37_79B9_7F4A_7C15);
            visit(&cold, (n >> 40) as u32 % segments as u32, KeyDigest { lo: n, hi: n.rotate_left(29) })
        })
    });
}

/// Keys of a `MultiGet`, in the order of their segments, one after the other and as a batch.
fn batches(criterion: &mut Criterion) {
    const BATCH: usize = 32;
    for (segments, name) in [(8, "8 segments, in the cache"), (8192, "8192 segments, out of it")] {
        let (_manager, handle) = opened(UnitSettings::ribbon(UNITS).unwrap(), segments);
        let mut n = 0u64;
        let mut next = || {
            let mut batch: Vec<_> = (0..BATCH)
                .map(|_| {
                    n = n.wrapping_add(0x9E37_79B9_7F4A_7C15);
                    (
                        (n >> 40) as u32 % segments as u32,
                        KeyDigest { lo: n.rotate_left(17), hi: n.rotate_left(29) },
                    )
                })
                .collect();
            batch.sort_unstable_by_key(|&(segment, _)| segment);
            batch
        };
        criterion.bench_function(&format!("{BATCH} keys one after the other, {name}"), |bench| {
            bench.iter_batched(
                &mut next,
                |batch| {
                    batch
                        .iter()
                        .filter(|&&(segment, digest)| handle.rejection(segment, digest).is_none())
                        .count()
                },
                BatchSize::SmallInput,
            )
        });
        criterion.bench_function(&format!("{BATCH} keys as a batch, {name}"), |bench| {
            bench.iter_batched(
                &mut next,
                |batch| {
                    let mut passed = 0;
                    handle.rejections(&batch, |_, rejection| passed += usize::from(rejection.is_none()));
                    passed
                },
                BatchSize::SmallInput,
            )
        });
    }
}

criterion_group!(benches, lookup, batches);
criterion_main!(benches);
