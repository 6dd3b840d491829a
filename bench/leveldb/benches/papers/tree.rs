//! The tree that all filters are measured on: LevelDB's own after a load in random order, and twelve files in L0, where LevelDB stops
//! writes. This many are there while it loads at full speed.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use springbloom_leveldb_bench::{Opening, Store, Table, WRITE_BUFFER};
use springbloom_published_policies::{Level, StockFilter, bits_per_level};
use springbloom_workload::{KeySpace, value};

pub(crate) const VALUE_BYTES: usize = 1000;
/// kL0_StopWritesTrigger.
const L0_FILES: usize = 12;
const L0_RECORDS: u64 = WRITE_BUFFER / (VALUE_BYTES as u64 + 24);

pub(crate) struct Tree {
    pub(crate) path: PathBuf,
    pub(crate) tables: Vec<Listed>,
    file_bytes: u64,
}

/// A table in LevelDB's list.
pub(crate) struct Listed {
    level: u32,
    number: u64,
    bytes: u64,
    /// Its first key.
    pub(crate) first: Vec<u8>,
}

fn parse(text: &str) -> Result<Vec<Listed>> {
    let (mut level, mut tables) = (0, Vec::new());
    for line in text.lines() {
        if let Some(number) = line.strip_prefix("--- level ") {
            level = number.trim_end_matches(" ---").parse().context("a level")?;
        } else {
            // ` NUMBER:BYTES['FIRST' @ ...`
            let (number, rest) = line.trim().split_once(':').with_context(|| format!("a table: {line}"))?;
            let (bytes, keys) = rest.split_once("['").with_context(|| format!("a table: {line}"))?;
            let (first, _) = keys.split_once('\'').with_context(|| format!("a key: {line}"))?;
            tables.push(Listed {
                level,
                number: number.parse()?,
                bytes: bytes.parse()?,
                first: first.into(),
            });
        }
    }
    Ok(tables)
}

impl Tree {
    pub(crate) fn load(path: PathBuf, keys: &KeySpace, seed: u64, file_bytes: u64) -> Result<Self> {
        let records = keys.records();
        let order = keys.load_order(records, seed);
        let (mut key, mut bytes) = (Vec::new(), Vec::new());
        let mut put = |store: &Store, range: std::ops::Range<u64>| {
            range.into_iter().try_for_each(|at| {
                keys.present(order(at), &mut key);
                value::write(order(at), 0, VALUE_BYTES, &mut bytes);
                store.put(&key, &bytes)
            })
        };
        let compacted = records.saturating_sub(L0_FILES as u64 * L0_RECORDS);
        ensure!(compacted > 0, "expected more than {} records, got {records}", L0_FILES as u64 * L0_RECORDS);
        let store =
            Store::open(&path, &Opening { write_buffer: WRITE_BUFFER, file_bytes, ..Opening::default() })?;
        put(&store, 0..compacted)?;
        store.settle();
        drop(store);
        // An opening writes what is in the log into L0.
        let mut tree = Tree { path, tables: Vec::new(), file_bytes };
        let mut done = compacted;
        loop {
            let mut store = tree.open(&tree.path, Opening::default())?;
            tree.tables = parse(&store.tables())?;
            let left = L0_FILES.saturating_sub(tree.files(0)) as u64;
            if left == 0 || done == records {
                ensure!(done == records, "{} records found no file", records - done);
                return Ok(tree);
            }
            let end = done + (records - done).div_ceil(left);
            put(&store, done..end)?;
            done = end;
        }
    }

    /// Opens it, or a copy, as it is.
    pub(crate) fn open(&self, path: &Path, how: Opening) -> Result<Store> {
        // Holds the records of a file of L0.
        let write_buffer = 4 * L0_FILES as u64 * WRITE_BUFFER;
        Store::open(path, &Opening { write_buffer, file_bytes: self.file_bytes, holds: true, ..how })
    }

    fn files(&self, level: u32) -> usize {
        self.tables.iter().filter(|table| table.level == level).count()
    }

    /// Such as `L0 12, L1 5 files`.
    pub(crate) fn summary(&self) -> String {
        let files = (0..7).map(|level| (level, self.files(level))).filter(|(_, files)| *files > 0);
        let files: Vec<_> = files.map(|(level, files)| format!("L{level} {files}")).collect();
        format!("{} files", files.join(", "))
    }

    /// Segments of this much data: each table has at least one.
    pub(crate) fn segments(&self, data_bytes: u64) -> u64 {
        self.tables.iter().map(|table| (table.bytes / data_bytes).max(1)).sum()
    }

    /// All tables, with Bloom filters of `bits` per key.
    pub(crate) fn with_bloom(&self, bits: u32) -> Vec<Table> {
        self.tables
            .iter()
            .map(|&Listed { level, number, .. }| Table { level, number, bloom_bits: bits })
            .collect()
    }

    /// All tables, with Bloom filters of `bits` per key on average, by level. LevelDB makes filters of whole bits: some tables of a level
    /// get one more.
    pub(crate) fn with_monkey(&self, bits: f64) -> Vec<Table> {
        let level = |number: u32| {
            let of_level = self.tables.iter().filter(|table| table.level == number);
            // All records are of one size.
            Level { files: of_level.clone().count() as u64, keys: of_level.map(|table| table.bytes).sum() }
        };
        let levels: Vec<_> = (0..7).map(level).collect();
        let by_level = bits_per_level(&levels, bits, StockFilter::Bloom);
        let mut owed = 0.0;
        let mut with_bits = |table: &Listed| {
            owed += by_level[table.level as usize] * table.bytes as f64;
            let bits = (owed / table.bytes as f64).round().max(0.0);
            owed -= bits * table.bytes as f64;
            Table { level: table.level, number: table.number, bloom_bits: bits as u32 }
        };
        self.tables.iter().map(&mut with_bits).collect()
    }
}
