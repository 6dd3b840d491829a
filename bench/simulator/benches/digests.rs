//! The gain of computing the digest of a key once per lookup instead of once per table (SHaMBa's shared hashing).
//!
//! `cargo bench -p springbloom-simulator --bench digests`. A lookup of an absent key probes the filters of several tables. Keys have 16 B,
//! 256 B and 1 KiB.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use rand::{Rng, SeedableRng, rngs::StdRng};
use springbloom_filter::{FilterGroup, KeyDigest, UnitSettings};

/// Seed of all keys, so that two runs measure the same lookups.
const SEED: u64 = 0x5eed;
const KEY_BYTES: [usize; 3] = [16, 256, 1024];
/// One table, the levels of a leveled tree, and many sorted runs.
const TABLES: [usize; 3] = [1, 4, 16];
const KEYS_PER_TABLE: usize = 4096;
const RESIDENT_UNITS: u8 = 4;
/// Keys that are looked up alternately: more than a branch predictor learns, few enough for the first-level cache.
const LOOKED_UP: usize = 16;

fn keys(rng: &mut StdRng, count: usize, bytes: usize) -> Vec<Vec<u8>> {
    (0..count)
        .map(|_| {
            let mut key = vec![0; bytes];
            rng.fill_bytes(&mut key);
            key
        })
        .collect()
}

fn table(rng: &mut StdRng, key_bytes: usize) -> FilterGroup {
    let digests: Vec<KeyDigest> =
        keys(rng, KEYS_PER_TABLE, key_bytes).iter().map(|key| KeyDigest::of(key)).collect();
    let built = UnitSettings::default().build(&digests);
    let units: Vec<&[u8]> = built.units[..RESIDENT_UNITS.into()].iter().map(Vec::as_slice).collect();
    FilterGroup::from_units(built.shape, &units).unwrap()
}

/// Tables that may have `key`, with its digest computed once.
fn once(tables: &[FilterGroup], key: &[u8]) -> usize {
    let digest = KeyDigest::of(key);
    tables.iter().filter(|table| table.may_match(digest)).count()
}

/// Tables that may have `key`, with its digest computed for each.
fn per_table(tables: &[FilterGroup], key: &[u8]) -> usize {
    tables.iter().filter(|table| table.may_match(KeyDigest::of(black_box(key)))).count()
}

/// Looks a key up in all tables and returns how many may hold it.
type Way = fn(&[FilterGroup], &[u8]) -> usize;

fn lookups(criterion: &mut Criterion) {
    let mut rng = StdRng::seed_from_u64(SEED);
    for key_bytes in KEY_BYTES {
        let mut group = criterion.benchmark_group(format!("lookup/{key_bytes} B keys"));
        for count in TABLES {
            let tables: Vec<FilterGroup> = (0..count).map(|_| table(&mut rng, key_bytes)).collect();
            let looked_up = keys(&mut rng, LOOKED_UP, key_bytes);
            for key in &looked_up {
                assert_eq!(once(&tables, key), per_table(&tables, key), "the same answers");
            }
            let ways: [(&str, Way); 2] = [("digest once", once), ("digest per table", per_table)];
            for (name, way) in ways {
                group.bench_function(BenchmarkId::new(name, format!("{count} tables")), |bencher| {
                    let mut turn = looked_up.iter().cycle();
                    bencher.iter(|| {
                        let key = turn.next().expect("a cycle has no end");
                        way(black_box(&tables), black_box(key))
                    });
                });
            }
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(std::time::Duration::from_millis(300))
        .measurement_time(std::time::Duration::from_millis(700))
        .sample_size(30);
    targets = lookups
}
criterion_main!(benches);
