//! Compares the families of units: build, hot and cold lookups, space and false positive rate.
//!
//! `cargo bench -p springbloom-simulator --bench units`. Before the timings, prints a line of other measurements per configuration. Every
//! configuration is checked for false negatives and for its rate.

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use springbloom_filter::{FilterGroup, GroupShape, KeyDigest, UnitSettings};
use springbloom_testkit::binomial::assert_rate_within;

/// Seed of all keys, so that two runs measure the same filters.
const SEED: u64 = 0x5eed;

/// Keys of a segment: 4 and 8 MiB of 1,000-byte values, a unit of one page, and 8 MiB of 100-byte values.
const KEY_COUNTS: [usize; 4] = [4096, 8190, 31_900, 67_000];

/// Filters for cold lookups, together larger than the last-level cache.
const COLD_BYTES: usize = 96 << 20;

fn digests(rng: &mut StdRng, count: usize) -> Vec<KeyDigest> {
    (0..count).map(|_| KeyDigest { lo: rng.random(), hi: rng.random() }).collect()
}

/// Settings to build, and numbers of units to probe. Configurations of similar size are adjacent.
fn configurations() -> Vec<(UnitSettings, Vec<u8>)> {
    let bloom = |units, bits| UnitSettings::bloom(units, bits).unwrap();
    vec![
        (bloom(6, 4), vec![1, 2, 3, 4]),
        (bloom(24, 1), vec![1, 4, 8]),
        (UnitSettings::ribbon(16).unwrap(), vec![1, 2, 4, 8, 10, 16]),
        (UnitSettings::ribbon(24).unwrap(), vec![4]),
    ]
}

fn group(settings: UnitSettings, keys: &[KeyDigest], resident: u8) -> (GroupShape, FilterGroup) {
    let built = settings.build(keys);
    let units: Vec<&[u8]> = built.units[..resident.into()].iter().map(Vec::as_slice).collect();
    (built.shape, FilterGroup::from_units(built.shape, &units).unwrap())
}

fn report(settings: UnitSettings, keys: &[KeyDigest], resident: u8, rng: &mut StdRng) {
    let (shape, group) = group(settings, keys, resident);
    assert!(keys.iter().all(|&key| group.may_match(key)), "false negative");
    let trials = 1_000_000;
    let passed = digests(rng, trials).into_iter().filter(|&digest| group.may_match(digest)).count();
    let expected = shape.false_positive_rate(resident);
    // A group is one draw of the hash functions. The rate of a Bloom filter varies around the mean over all draws.
    let what = "rate of the measured group";
    assert_rate_within(passed as u64, trials as u64, expected * 0.9, expected * 1.1, what);
    eprintln!(
        "{settings}, {} keys, {resident} units: {:.3} bits/key per unit, fpr {:.3e} (analytic {expected:.3e})",
        keys.len(),
        shape.unit_bytes() as f64 * 8.0 / keys.len() as f64,
        passed as f64 / trials as f64,
    );
}

/// Where the numbers come from.
fn provenance() {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map(|(_, name)| name);
    let commit = std::process::Command::new("git").args(["rev-parse", "--short", "HEAD"]).output();
    let commit = commit.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let avx2 = cfg!(target_feature = "avx2");
    eprintln!("cpu {model:?}, compiled with AVX2: {avx2}, commit {commit:?}, seed {SEED:#x}");
}

fn builds(criterion: &mut Criterion) {
    provenance();
    let mut rng = StdRng::seed_from_u64(SEED);
    for key_count in KEY_COUNTS {
        let mut group = criterion.benchmark_group(format!("build/{key_count} keys"));
        group.throughput(Throughput::Elements(key_count as u64)).sample_size(20);
        // Fresh keys each time: a ribbon's tries depend on them.
        for (settings, _) in configurations() {
            let inputs: Vec<_> = (0..16).map(|_| digests(&mut rng, key_count)).collect();
            let mut next = inputs.iter().cycle();
            group.bench_function(BenchmarkId::from_parameter(settings), |bencher| {
                bencher.iter_batched(
                    || next.next().unwrap(),
                    |keys| settings.build(keys),
                    BatchSize::LargeInput,
                );
            });
        }
    }
}

fn lookups(criterion: &mut Criterion) {
    let mut rng = StdRng::seed_from_u64(SEED);
    let key_count = KEY_COUNTS[0];
    let keys = digests(&mut rng, key_count);
    let absent = digests(&mut rng, key_count);
    for (settings, residents) in configurations() {
        for resident in residents {
            report(settings, &keys, resident, &mut rng);
            let (shape, hot) = group(settings, &keys, resident);
            let cold: Vec<_> = (0..COLD_BYTES / (usize::from(resident) * shape.unit_bytes()).max(1))
                .map(|_| Box::new(hot.clone()))
                .collect();
            for (kind, probes) in [("absent", &absent), ("present", &keys)] {
                let mut benches = criterion.benchmark_group(format!("lookup {kind}/{settings}"));
                benches.throughput(Throughput::Elements(1)).sample_size(20);
                let mut next = probes.iter().cycle();
                benches.bench_function(BenchmarkId::new("hot", resident), |bencher| {
                    bencher.iter(|| black_box(&hot).may_match(*next.next().unwrap()));
                });
                let mut state = 1u64;
                benches.bench_function(BenchmarkId::new("cold", resident), |bencher| {
                    bencher.iter(|| {
                        state = state.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
                        let chosen = ((u128::from(state) * cold.len() as u128) >> 64) as usize;
                        cold[chosen].may_match(*next.next().unwrap())
                    });
                });
            }
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_millis(600));
    targets = builds, lookups
}
criterion_main!(benches);
