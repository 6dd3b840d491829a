//! The header of a report: data, filters, workload.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;
use springbloom_console::percent;
use springbloom_console::sizes::Size;
use springbloom_records::{Build, Clock, Figure, Machine};
use springbloom_workload::{FamilyMix, Movement};

use crate::database::block_cache::BlockCache;
use crate::database::preset::Preset;
use crate::database::shape::LevelShape;
use crate::recorded::Recorded;
use crate::run::{Plan, Workload};

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
    pub(crate) block_cache: Option<BlockCache>,
    pub(crate) families: u32,
    pub(crate) family_databases: bool,
    /// Memory of `partitioned`, and of `elastic` configurations that name no other.
    pub(crate) budget_bytes: u64,
    /// The configuration that ratios are to.
    pub(crate) baseline: String,
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
    /// These four are recorded with a trace.
    pub(crate) distribution: String,
    pub(crate) absent_share: f64,
    pub(crate) absent: String,
    pub(crate) movement: String,
    /// Shares of each column family, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) family_traffic: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) family_absent: Option<Vec<f64>>,
    /// Operations of a trace that filled the databases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) load_ops: Option<u64>,
    /// Reads that are one `MultiGet`; 1 for `Get`.
    pub(crate) multi_get: u32,
    pub(crate) warmup_ops: u64,
    pub(crate) ops: u64,
    pub(crate) rounds: u32,
    pub(crate) hot_key_seeds: u32,
}

const RECORDED: &str = "recorded";

impl Lookups {
    pub(crate) fn of(plan: &Plan<'_>, recorded: Option<&Recorded>) -> Self {
        let Plan { batch, warmup_ops, ops, rounds, hot_key_seeds, .. } = *plan;
        let (stream, mix) = match &plan.workload {
            Workload::Generated(stream, mix) => (Some(stream), Some(mix)),
            Workload::Trace(_) => (None, None),
        };
        let families = mix.filter(|mix| mix.traffic.len() > 1);
        let absent_share = |recorded: &Recorded| {
            let counts = recorded.replay.counts(warmup_ops..warmup_ops + ops);
            counts.absent_gets as f64 / (counts.gets as f64).max(1.0)
        };
        Lookups {
            workload: match (stream, recorded) {
                (Some(stream), _) => stream.mix.to_string(),
                (None, recorded) => {
                    format!("trace {}", recorded.map_or("", |recorded| recorded.name.as_str()))
                }
            },
            distribution: stream.map_or(RECORDED.to_owned(), |stream| stream.distribution.to_string()),
            absent_share: mix.map(FamilyMix::absent_share).or(recorded.map(absent_share)).unwrap_or_default(),
            absent: stream.map_or(RECORDED.to_owned(), |stream| stream.absent.to_string()),
            movement: stream.map_or(RECORDED.to_owned(), |stream| stream.movement.to_string()),
            family_traffic: families.map(|mix| mix.traffic.clone()),
            family_absent: families.map(|mix| mix.absent.clone()),
            load_ops: recorded.map(|recorded| recorded.load_ops),
            multi_get: batch,
            warmup_ops,
            ops,
            rounds,
            hot_key_seeds,
        }
    }

    fn write_text(&self, out: &mut impl Write, seed: u64) -> Result<()> {
        let Lookups { workload, distribution, warmup_ops, ops, rounds, hot_key_seeds, .. } = self;
        let absent = self.absent_share * 100.0;
        let batches = match self.multi_get {
            1 => String::new(),
            keys => format!(" in batches of {keys} reads"),
        };
        if let Some(load_ops) = self.load_ops {
            return Ok(writeln!(
                out,
                "workload: {workload}{batches}\n  {load_ops} operations fill the databases, then {warmup_ops} and {ops} measured ones in \
                 {rounds} rounds, {absent:.1}% of their gets for absent keys"
            )?);
        }
        writeln!(
            out,
            "workload: {workload}{batches}, {distribution}, {} of lookups for {} absent keys",
            percent(self.absent_share),
            self.absent
        )?;
        if self.movement != Movement::Still.to_string() {
            writeln!(out, "  popular keys move: {}", self.movement)?;
        }
        if let (Some(traffic), Some(absent)) = (&self.family_traffic, &self.family_absent) {
            let shares = |shares: &[f64]| {
                let shares: Vec<_> = shares.iter().map(|share| format!("{:.1}", share * 100.0)).collect();
                shares.join("/")
            };
            writeln!(out, "  lookups by family: {}%", shares(traffic))?;
            writeln!(out, "  of these for absent keys: {}%", shares(absent))?;
        }
        Ok(writeln!(
            out,
            "  {warmup_ops} operations, then {ops} measured ones in {rounds} rounds; hot keys chosen {hot_key_seeds} times; seed {seed}",
        )?)
    }
}

/// Loads that were measured.
#[derive(Debug, Serialize)]
pub(crate) struct Loads {
    pub(crate) load_records: u64,
    pub(crate) load_rounds: u32,
}

impl Header {
    /// The record of a run.
    pub(crate) fn write_record(&self, out: &mut impl Write, figures: Vec<Figure>) -> Result<()> {
        self.clock.write_record(out, self.seed, self, figures)
    }

    /// The header of a table, with the empty line behind it.
    pub(crate) fn write_text(&self, out: &mut impl Write) -> Result<()> {
        let Machine { cpu, cores, memory_bytes, kernel } = Machine::this();
        let (build, memory) = (Build::this(), Size { bytes: memory_bytes });
        let (version, commit, rocksdb) = (&build.version, build.commit_name(), self.rocksdb);
        writeln!(out, "springbloom {version} ({commit}), RocksDB {rocksdb}")?;
        writeln!(out, "machine: {cpu}, {cores} cores, {memory}, Linux {kernel}")?;
        let families = match self.families {
            1 => String::new(),
            families if self.family_databases => format!(" in {families} databases"),
            families => format!(" in {families} column families"),
        };
        writeln!(
            out,
            "data: {} records{families} ({}, keys of {:.0} B, values of {} B)",
            self.records, self.keys, self.key_bytes_mean, self.value_bytes,
        )?;
        writeln!(out, "  {}; {}", self.tree, if self.direct_io { "direct I/O" } else { "buffered I/O" })?;
        if let Some(lookups) = &self.lookups {
            lookups.write_text(out, self.seed)?;
        }
        if let Some(Loads { load_records, load_rounds }) = self.loads {
            writeln!(
                out,
                "load: {load_records} records through memtable, flush and compaction, {load_rounds} rounds"
            )?;
        }
        writeln!(out, "budget: {}; elastic: {}", Size { bytes: self.budget_bytes }, self.elastic)?;
        self.own_settings.iter().try_for_each(|settings| writeln!(out, "{settings}"))?;
        if let Some(cache) = self.block_cache {
            writeln!(out, "{cache}")?;
        }
        Ok(writeln!(out)?)
    }
}
