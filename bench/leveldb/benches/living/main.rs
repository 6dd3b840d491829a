//! Reads of tables per lookup in databases that write and compact as LevelDB does: without filters, with its Bloom filters, and with
//! elastic filters of the same memory.
//!
//! Usage: `cargo bench --manifest-path bench/leveldb/Cargo.toml --bench living -- BITS... LAW...`, such as `10 4 uniform zipf:0.99`. BITS
//! are those of a Bloom filter per key, LAW is the popularity of keys. Half of the lookups are for absent ones. Counted are those of the
//! second half of the operations. Settings come from the environment, see [`SETTINGS`].

use std::env;
use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use springbloom_host_core::{Budget, Filters, Settings};
use springbloom_leveldb_bench::{
    OPERATIONS_BETWEEN_LOADS, Opening, Store, WRITE_BUFFER, bloom_bytes, engine, folder, is_right, numbers,
    settle,
};
use springbloom_published_policies::PolicyKind;
use springbloom_workload::{Distribution, KeySpace, Mix, Operation, OperationStream, StreamSettings, value};

/// Records, operations, how many of a hundred of these overwrite a record, and the seed.
const SETTINGS: [&str; 4] = [
    "SPRINGBLOOM_BENCH_RECORDS",
    "SPRINGBLOOM_BENCH_OPERATIONS",
    "SPRINGBLOOM_BENCH_UPDATES",
    "SPRINGBLOOM_SEED",
];
const DEFAULTS: [u64; 4] = [200_000, 200_000, 20, 42];
const VALUE_BYTES: usize = 100;
/// LevelDB's table file by default.
const FILE_BYTES: u64 = 2 << 20;

#[derive(Clone, Copy)]
enum Filter {
    None,
    /// Bits per key.
    Bloom(u32),
    /// Bytes.
    Elastic(u64),
}

struct Lab {
    path: PathBuf,
    keys: KeySpace,
    operations: u64,
    mix: Mix,
    seed: u64,
}

/// Lookups of absent keys, and of present ones, each with the reads that they took.
#[derive(Default)]
struct Counts {
    lookups: [u64; 2],
    reads: [u64; 2],
}

impl Lab {
    /// Loads a database, and gives what its lookups read, and the bytes of its Bloom filters after the load.
    fn measure(&self, filter: Filter, law: Distribution) -> Result<(Counts, u64)> {
        let filters = match filter {
            Filter::Elastic(bytes) => {
                let settings =
                    Settings { budget: Budget::Bytes(bytes), warm_start_every: None, ..Settings::default() };
                Some(Filters::start_with(settings, engine(), PolicyKind::default().policy(None))?)
            }
            Filter::None | Filter::Bloom(_) => None,
        };
        let bloom_bits = if let Filter::Bloom(bits) = filter { bits } else { 0 };
        let opening = Opening {
            write_buffer: WRITE_BUFFER,
            file_bytes: FILE_BYTES,
            holds: false,
            filters: filters.clone(),
            bloom_bits,
        };
        let mut store = Store::open(&self.path, &opening)?;
        let records = self.keys.records();
        let order = self.keys.load_order(records, self.seed);
        let (mut key, mut bytes) = (Vec::new(), Vec::new());
        let mut put = |store: &Store, record, version| {
            self.keys.present(record, &mut key);
            value::write(record, version, VALUE_BYTES, &mut bytes);
            store.put(&key, &bytes)
        };
        (0..records).try_for_each(|at| put(&store, order(at), 0))?;
        store.settle();
        let memory = if bloom_bits == 0 { 0 } else { self.bloom_bytes(&mut store)? };
        let mut operations = self.stream(law)?;
        let (mut versions, mut counts) = (vec![0; records as usize], Counts::default());
        let mut sought = Vec::new();
        for at in 1..=self.operations {
            let (record, version) = match operations.next_operation() {
                Operation::Read(record) => (record, Some(versions[record as usize])),
                Operation::ReadAbsent(record) => (record, None),
                Operation::Update(record) => {
                    versions[record as usize] += 1;
                    put(&store, record, versions[record as usize])?;
                    continue;
                }
                other => bail!("{other:?} was not asked for"),
            };
            match version {
                Some(_) => self.keys.present(record, &mut sought),
                None => self.keys.absent(record, &mut sought),
            }
            let (found, reads) = store.get(&sought)?;
            ensure!(
                is_right(found, record, version, VALUE_BYTES),
                "a wrong answer for {}",
                sought.escape_ascii()
            );
            if at > self.operations / 2 {
                let kind = usize::from(version.is_some());
                counts.lookups[kind] += 1;
                counts.reads[kind] += reads;
            }
            if let Some(filters) = filters.as_ref().filter(|_| at % OPERATIONS_BETWEEN_LOADS == 0) {
                settle(filters)?;
            }
        }
        drop(store);
        std::fs::remove_dir_all(&self.path)?;
        Ok((counts, memory))
    }

    fn stream(&self, distribution: Distribution) -> Result<OperationStream> {
        let gets = StreamSettings::gets(0.0, 0.5, 1, self.seed);
        let settings = StreamSettings { mix: self.mix, distribution, ..gets };
        Ok(OperationStream::new(settings, &self.keys)?)
    }

    /// LevelDB keeps them in memory while a table is open.
    fn bloom_bytes(&self, store: &mut Store) -> Result<u64> {
        // ` NUMBER:BYTES['FIRST' @ ...`
        let tables = store.tables();
        let numbers = tables.lines().filter_map(|line| line.trim().split_once(':')?.0.parse().ok());
        numbers.map(|number| bloom_bytes(&self.path, number)).sum()
    }
}

fn main() -> Result<()> {
    // Cargo adds `--bench`.
    let words: Vec<String> = env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let (bits, laws): (Vec<_>, Vec<_>) = words.iter().partition(|word| word.parse::<u32>().is_ok());
    let bits: Vec<u32> = bits.into_iter().filter_map(|word| word.parse().ok()).collect();
    ensure!(
        !bits.is_empty() && !laws.is_empty(),
        "expected bits and popularities, such as 10 4 uniform zipf:0.99"
    );
    let [records, operations, updates, seed] = numbers(SETTINGS, DEFAULTS)?;
    ensure!(
        records > 0 && operations > 0 && (1..100).contains(&updates),
        "expected settings above 0, and at most 99 updates of a hundred"
    );
    let folder = folder()?;
    let lab = Lab {
        path: folder.path().join("database"),
        keys: KeySpace::Synthetic { records },
        operations,
        mix: Mix::of_shares(&format!("read=.{:02},update=.{updates:02}", 100 - updates))?,
        seed,
    };
    for law in laws {
        let distribution: Distribution = law.parse()?;
        let note = |config: &str, memory: u64, counts: &Counts| {
            let [absent, present] =
                [0, 1].map(|kind| counts.reads[kind] as f64 / counts.lookups[kind] as f64);
            let bits = memory as f64 * 8.0 / records as f64;
            println!(
                "{law} {config}: {absent:.4} reads per absent key, {present:.4} per present one, {bits:.2} bits per key"
            );
        };
        note("none", 0, &lab.measure(Filter::None, distribution)?.0);
        for &bits in &bits {
            let (counts, memory) = lab.measure(Filter::Bloom(bits), distribution)?;
            note(&format!("bloom:{bits}"), memory, &counts);
            let (counts, _) = lab.measure(Filter::Elastic(memory), distribution)?;
            note(&format!("elastic, memory of bloom:{bits}"), memory, &counts);
        }
    }
    Ok(())
}
