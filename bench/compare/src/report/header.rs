//! The header of a report: data, filters, workload.

use std::fmt::Display;
use std::io::Write;

use anyhow::Result;
use serde::{Serialize, Serializer};
use springbloom_console::sizes::Size;
use springbloom_records::{Build, Clock, Machine};
use springbloom_workload::{AbsentKeys, Movement};

use crate::database::block_cache::BlockCache;
use crate::database::preset::Preset;
use crate::database::shape::LevelShape;

/// Data, filters and workload.
#[derive(Debug, Serialize)]
pub(crate) struct Header {
    #[serde(skip)]
    pub(crate) clock: Clock,
    pub(crate) rocksdb: &'static str,
    pub(crate) preset: Preset,
    pub(crate) keys: String,
    pub(crate) records: u64,
    pub(crate) key_bytes_mean: f64,
    pub(crate) value_bytes: usize,
    #[serde(skip)]
    pub(crate) seed: u64,
    pub(crate) direct_io: bool,
    pub(crate) wal: bool,
    /// Seek time that reads were given.
    pub(crate) seek_ms: Option<f64>,
    pub(crate) block_cache: Option<BlockCache>,
    /// Memory of `partitioned`, and of `elastic` configurations that name no other.
    pub(crate) budget_bytes: u64,
    pub(crate) elastic: String,
    /// The same of configurations that have settings of their own.
    pub(crate) own_settings: Vec<String>,
    pub(crate) levels: Vec<LevelShape>,
    pub(crate) tree: String,
    #[serde(flatten)]
    pub(crate) lookups: Option<Lookups>,
    #[serde(flatten)]
    pub(crate) loads: Option<Loads>,
}

/// A workload that was run on databases.
#[derive(Debug, Serialize)]
pub(crate) struct Lookups {
    pub(crate) workload: String,
    pub(crate) distribution: String,
    pub(crate) zero_result_ratio: f64,
    #[serde(serialize_with = "as_text")]
    pub(crate) absent: AbsentKeys,
    #[serde(serialize_with = "as_text")]
    pub(crate) movement: Movement,
    pub(crate) window_ops: Option<u64>,
    pub(crate) warmup_ops: u64,
    pub(crate) ops: u64,
    pub(crate) rounds: u32,
    pub(crate) salts: u32,
}

fn as_text<S: Serializer>(value: &impl Display, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Loads that were measured.
#[derive(Debug, Serialize)]
pub(crate) struct Loads {
    pub(crate) load_records: u64,
    pub(crate) load_rounds: u32,
}

impl Header {
    /// The header of a table, with the empty line behind it.
    pub(crate) fn write_text(&self, out: &mut impl Write) -> Result<()> {
        let Machine { cpu, cores, memory_bytes, kernel } = Machine::this();
        let (build, memory) = (Build::this(), Size { bytes: memory_bytes });
        let (version, commit, rocksdb) = (&build.version, build.commit_name(), self.rocksdb);
        writeln!(
            out,
            "springbloom {version} ({commit}), RocksDB {rocksdb}; {cpu}, {cores} cores, {memory}, Linux {kernel}"
        )?;
        writeln!(
            out,
            "{} records ({}, keys of {:.0} B, values of {} B), {}; {}{}{}",
            self.records,
            self.keys,
            self.key_bytes_mean,
            self.value_bytes,
            self.tree,
            if self.direct_io { "direct I/O" } else { "buffered I/O" },
            if self.wal { ", write-ahead log" } else { "" },
            self.seek_ms.map_or_else(String::new, |seek| format!(", {seek} ms a seek")),
        )?;
        if let Some(lookups) = &self.lookups {
            writeln!(
                out,
                "workload {}, {}, {:.0}% zero-result lookups for {} absent keys, movement {}; {} warm-up + {} measured \
                 operations, {} rounds, {} hot-key mappings, seed {}",
                lookups.workload,
                lookups.distribution,
                lookups.zero_result_ratio * 100.0,
                lookups.absent,
                lookups.movement,
                lookups.warmup_ops,
                lookups.ops,
                lookups.rounds,
                lookups.salts,
                self.seed,
            )?;
        }
        if let Some(Loads { load_records, load_rounds }) = self.loads {
            writeln!(
                out,
                "load: {load_records} records through memtable, flush and compaction, {load_rounds} rounds"
            )?;
        }
        writeln!(out, "budget {}; elastic: {}", Size { bytes: self.budget_bytes }, self.elastic)?;
        self.own_settings.iter().try_for_each(|settings| writeln!(out, "{settings}"))?;
        if let Some(cache) = self.block_cache {
            writeln!(out, "{cache}")?;
        }
        Ok(writeln!(out)?)
    }
}
