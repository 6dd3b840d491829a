//! ElasticBF's experiments on LevelDB itself: reads of tables per lookup under LevelDB's Bloom filters, Monkey, ElasticBF and Springbloom.
//!
//! Usage: `cargo bench --manifest-path bench/leveldb/Cargo.toml --bench papers -- FILTER... LAW/ABSENT...`, such as `bloom:4
//! monkey-bloom:4 elasticbf:4 elastic:4 zipf:0.99/0.5`. The number is bits per key; elastic ones have a budget of as many, bookkeeping
//! included. LAW is the popularity of keys, ABSENT the share of lookups of absent ones. Settings come from the environment, see
//! [`SETTINGS`]. The file that `SPRINGBLOOM_RECORD` names gets a record.
//!
//! All filters are measured on copies of one tree that stays as it is: LevelDB would merge what many lookups ask. Counts do not depend on
//! how busy the machine is: units that wait are loaded after each thousand lookups.

mod tree;

use std::env;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use springbloom_host_core::{Budget, Filters, Settings};
use springbloom_leveldb_bench::{
    OPERATIONS_BETWEEN_LOADS, Opening, Store, copy, engine, folder, is_right, numbers, settle,
};
use springbloom_published_policies::{PolicyKind, System};
use springbloom_records::{Bench, Clock, Figure, Unit, labels};
use springbloom_workload::{Distribution, KeySpace, Operation, OperationStream, StreamSettings};
use tree::{Tree, VALUE_BYTES};

/// Records, MiB of a table file, lookups before the measurement and as many in it, choices of hot keys, and the seed.
const SETTINGS: [&str; 5] = [
    "SPRINGBLOOM_BENCH_RECORDS",
    "SPRINGBLOOM_BENCH_FILE_MIB",
    "SPRINGBLOOM_BENCH_LOOKUPS",
    "SPRINGBLOOM_BENCH_HOT_KEY_SEEDS",
    "SPRINGBLOOM_SEED",
];
const DEFAULTS: [u64; 5] = [300_000, 64, 20_000, 1, 42];
/// Of new tables: there are none. Each old one says how many it has.
const BLOOM_BITS: u32 = 10;

/// One way to filter.
#[derive(Clone, Copy)]
enum Filter {
    Bloom(u32),
    MonkeyBloom(u32),
    Elastic(System, u32),
}

impl Filter {
    fn parse(text: &str) -> Result<Self> {
        let bits = |bits: &str| bits.parse().ok().filter(|bits| (1..=64).contains(bits));
        let parsed = text.split_once(':').and_then(|(name, given)| {
            Some(match (name, bits(given)?) {
                ("bloom", bits) => Self::Bloom(bits),
                ("monkey-bloom", bits) => Self::MonkeyBloom(bits),
                (name, bits) => Self::Elastic(System::of(name)?, bits),
            })
        });
        parsed.with_context(|| {
            format!("got {text}, expected bloom, monkey-bloom, elasticbf, elasticbf-file or elastic, then : and bits per key")
        })
    }
}

/// What lookups ask for.
struct Point {
    law: String,
    distribution: Distribution,
    absent: f64,
}

impl Point {
    fn parse(text: &str) -> Result<Self> {
        let (law, absent) = text.split_once('/').context("expected LAW/ABSENT")?;
        let distribution = law.parse().map_err(|error| anyhow::anyhow!("{text}: {error}"))?;
        Ok(Self {
            law: law.to_owned(),
            distribution,
            absent: absent.parse().with_context(|| text.to_owned())?,
        })
    }

    fn operations(&self, keys: &KeySpace, hot_key_seed: u64, seed: u64) -> Result<OperationStream> {
        let gets = StreamSettings::gets(0.0, self.absent, hot_key_seed, seed ^ hot_key_seed << 48);
        let settings = StreamSettings { distribution: self.distribution, ..gets };
        Ok(OperationStream::new(settings, keys)?)
    }
}

#[derive(Clone, Copy, Default)]
struct Counts {
    lookups: u64,
    reads: u64,
    found: u64,
}

/// Looks `lookups` keys up, and checks each answer.
fn look_up(
    store: &mut Store,
    keys: &KeySpace,
    operations: &mut OperationStream,
    lookups: u64,
    filters: Option<&Arc<Filters>>,
) -> Result<Counts> {
    let (mut counts, mut key) = (Counts::default(), Vec::new());
    for at in 1..=lookups {
        let (record, is_absent) = match operations.next_operation() {
            Operation::Read(record) => (record, false),
            Operation::ReadAbsent(record) => (record, true),
            other => bail!("{other:?} is no lookup"),
        };
        if is_absent {
            keys.absent(record, &mut key)
        } else {
            keys.present(record, &mut key)
        }
        let (found, reads) = store.get(&key)?;
        let version = (!is_absent).then_some(0);
        ensure!(is_right(found, record, version, VALUE_BYTES), "a wrong answer for {}", key.escape_ascii());
        counts.lookups += 1;
        counts.reads += reads;
        counts.found += u64::from(!is_absent);
        if let Some(filters) = filters.filter(|_| at % OPERATIONS_BETWEEN_LOADS == 0) {
            settle(filters)?;
        }
    }
    Ok(counts)
}

/// What all measurements have in common.
struct Setup {
    tree: Tree,
    keys: KeySpace,
    lookups: u64,
    hot_key_seeds: u64,
    seed: u64,
}

/// Per lookup, for each choice of hot keys.
#[derive(Default)]
struct Measured {
    reads: Vec<f64>,
    wasted: Vec<f64>,
    unit_reads: Vec<f64>,
}

impl Setup {
    /// `filters`: makes new ones, which know nothing yet.
    fn measure(
        &self,
        path: &Path,
        bloom_bits: u32,
        point: &Point,
        filters: impl Fn() -> Result<Option<Arc<Filters>>>,
    ) -> Result<Measured> {
        let mut measured = Measured::default();
        for hot_key_seed in 1..=self.hot_key_seeds {
            let filters = filters()?;
            let mut store = self
                .tree
                .open(path, Opening { filters: filters.clone(), bloom_bits, ..Opening::default() })?;
            // Opens all tables.
            for table in &self.tree.tables {
                store.get(&table.first)?;
            }
            let mut operations = point.operations(&self.keys, hot_key_seed, self.seed)?;
            look_up(&mut store, &self.keys, &mut operations, self.lookups, filters.as_ref())?;
            let unit_reads = || filters.as_ref().map_or(0, |filters| filters.stats().load_reads);
            let before = unit_reads();
            let Counts { lookups, reads, found } =
                look_up(&mut store, &self.keys, &mut operations, self.lookups, filters.as_ref())?;
            let per_lookup = |count: u64| count as f64 / lookups as f64;
            measured.reads.push(per_lookup(reads));
            measured.wasted.push(per_lookup(reads - found));
            measured.unit_reads.push(per_lookup(unit_reads() - before));
        }
        Ok(measured)
    }

    /// New filters of a system.
    fn filters(&self, system: System, bits: u32, tables_per_lookup: f64) -> Result<Arc<Filters>> {
        let (policy, settings): (Vec<_>, Vec<_>) =
            system.settings().iter().partition(|(name, _)| *name == "policy");
        let budget = Budget::Bytes(self.keys.records() * u64::from(bits) / 8);
        let usual = Settings { budget, warm_start_every: None, ..Settings::default() };
        let settings = usual.with(&settings).map_err(anyhow::Error::msg)?;
        let policy = policy.first().map_or(Ok(PolicyKind::default()), |(_, name)| name.parse());
        let policy: PolicyKind = policy.map_err(anyhow::Error::msg)?;
        let segments = self.tree.segments(settings.segment_size) as f64;
        let lifetime = system
            .lifetime_gets_per_segment()
            .map(|share| ((share * segments).max(1.0) * tables_per_lookup) as u64);
        Ok(Filters::start_with(settings, engine(), policy.policy(lifetime.map(|visits| visits.max(1))))?)
    }
}

fn main() -> Result<()> {
    // Cargo adds `--bench`.
    let words: Vec<String> = env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let (points, names): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| word.contains('/'));
    let points: Vec<Point> = points.into_iter().map(|text| Point::parse(text)).collect::<Result<_>>()?;
    let parsed: Vec<Filter> = names.iter().map(|text| Filter::parse(text)).collect::<Result<_>>()?;
    ensure!(
        !points.is_empty() && !names.is_empty(),
        "expected filters and LAW/ABSENT, such as bloom:4 elastic:4 zipf:0.99/0.5"
    );
    let [records, file_mib, lookups, hot_key_seeds, seed] = numbers(SETTINGS, DEFAULTS)?;
    ensure!(file_mib > 0 && lookups > 0 && hot_key_seeds > 0, "expected settings above 0");
    let clock = Clock::start();
    let folder = folder()?;
    let keys = KeySpace::Synthetic { records };
    let tree = Tree::load(folder.path().join("tree"), &keys, seed, file_mib << 20)?;
    println!("{records} records, {}, seed {seed}", tree.summary());
    let setup = Setup { tree, keys, lookups, hot_key_seeds, seed };
    let mut figures = Vec::new();
    let mut note = |filter: &str, point: &Point, measured: Measured| {
        let Measured { reads, wasted, unit_reads } = measured;
        let of = labels([
            ("config", filter.to_owned()),
            ("law", point.law.clone()),
            ("absent", point.absent.to_string()),
        ]);
        for (name, values) in [
            ("data_reads_per_get", reads),
            ("wasted_reads_per_get", wasted),
            ("unit_reads_per_get", unit_reads),
        ] {
            let figure = Figure::over(name, of.clone(), values, Unit::PerLookup);
            let text = figure.as_ref().map_or(String::new(), |figure| figure.text(4));
            println!("{filter:18} {}/{}: {name} {text}", point.law, point.absent);
            figures.extend(figure);
        }
    };
    // What lookups ask without filters.
    let mut tables_per_lookup = Vec::new();
    for point in &points {
        let measured = setup.measure(&setup.tree.path, 0, point, || Ok(None))?;
        tables_per_lookup.push(measured.reads.iter().sum::<f64>() / measured.reads.len() as f64);
        note("none", point, measured);
    }
    let mut memory = Vec::new();
    for (name, filter) in names.iter().zip(parsed) {
        let path = folder.path().join("copy");
        let (tables, made) = match filter {
            Filter::Bloom(bits) => (setup.tree.with_bloom(bits), None),
            Filter::MonkeyBloom(bits) => (setup.tree.with_monkey(f64::from(bits)), None),
            Filter::Elastic(system, bits) => (setup.tree.with_bloom(0), Some((system, bits))),
        };
        let writer = made.map(|(system, bits)| setup.filters(system, bits, 1.0)).transpose()?;
        let bytes = copy(&setup.tree.path, &path, &tables, writer.as_ref())?;
        // Bloom filters are in memory as a whole.
        let bytes = made.map_or(bytes, |(_, bits)| records * u64::from(bits) / 8);
        memory.push(Figure::new(
            "filter_bytes",
            labels([("config", name.to_string())]),
            bytes as f64,
            Unit::Bytes,
        ));
        println!("{name:18} {:.2} bits per key in memory", bytes as f64 * 8.0 / records as f64);
        for (point, tables) in points.iter().zip(&tables_per_lookup) {
            let filters = || made.map(|(system, bits)| setup.filters(system, bits, *tables)).transpose();
            let bloom_bits = if made.is_none() { BLOOM_BITS } else { 0 };
            note(name, point, setup.measure(&path, bloom_bits, point, filters)?);
        }
        std::fs::remove_dir_all(&path)?;
    }
    figures.extend(memory);
    let bench = Bench { folder: "bench/leveldb", bench: "papers", environment: &SETTINGS, sections: &words };
    bench.record(&clock, seed, figures)
}
