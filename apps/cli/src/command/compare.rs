//! `springbloom compare`: one workload on one tree under many filters.

use std::fs;
use std::io::stdout;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use rustix::fs::OFlags;
use springbloom_rocksdb::{Elastic, PolicyKind, UnitSettings};
use springbloom_workload::{
    Distribution, FileKeys, KeySpace, Mix, Movement, OperationStream, StreamSettings, value,
};

use crate::bench::{self, Plan};
use crate::failure::bad_input;
use crate::machine::{Machine, ROCKSDB_VERSION};
use crate::report::{self, Header};
use crate::sizes::Size;
use crate::store::build::Folder;
use crate::store::config::Config;
use crate::store::load::Records;
use crate::store::manifest::{FORMAT_VERSION, TreeManifest};
use crate::store::options::{CommonSettings, ElasticSettings};
use crate::store::preset::Preset;

/// Compare elastic filters with every filter of RocksDB, at the same memory and on the same tree
///
/// Loads one tree, makes a database of it for each configuration, runs the workload on them in turns and prints one table.
/// Every answer is verified.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
pub(crate) struct Compare {
    /// Shape of the tree and size of the run
    #[arg(long, value_enum, default_value = "small", help_heading = "Data")]
    preset: Preset,
    /// Real keys, one a line, instead of synthetic ones
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    keys: Option<PathBuf>,
    /// Records to load (with --keys: at most)
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1 << 40), help_heading = "Data")]
    records: Option<u64>,
    /// Bytes of a value
    #[arg(long, help_heading = "Data")]
    value_bytes: Option<usize>,
    /// Folder for the databases, kept for --reuse [default: a temporary one]
    #[arg(long, help_heading = "Data")]
    dir: Option<PathBuf>,
    /// Run on the databases that --dir holds, if they were made with the same settings
    #[arg(long, requires = "dir", help_heading = "Data")]
    reuse: bool,

    /// Configurations: none, bloom:BITS, ribbon:BITS, partitioned:BITS, monkey:BITS, elastic:BITS (average bits per key)
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "none,bloom:4,bloom:10,ribbon:4,partitioned:10,monkey:4,elastic:4",
        help_heading = "Filters"
    )]
    configs: Vec<Config>,
    /// Memory for elastic filters, and for the cache of partitioned ones [default: bits of the first elastic configuration]
    #[arg(long, value_name = "SIZE", help_heading = "Filters")]
    budget: Option<Size>,
    /// Who decides which units are resident: uniform, monkey, multi-queue or benefit
    #[arg(long, default_value_t, help_heading = "Filters")]
    policy: PolicyKind,
    /// Units of each filter: ribbon:UNITS (of one bit per key) or bloom:UNITSxBITS
    #[arg(long, default_value_t, help_heading = "Filters")]
    units: UnitSettings,
    /// Data that one filter covers
    #[arg(long, value_name = "SIZE", default_value = "4MiB", help_heading = "Filters")]
    segment_bytes: Size,
    /// Lookups after which a segment counts as expired (multi-queue)
    #[arg(long, value_name = "LOOKUPS", help_heading = "Filters")]
    lifetime: Option<u64>,

    /// Operations: get, or a core workload of YCSB from a to f
    #[arg(long, default_value = "get", value_parser = parse_mix, help_heading = "Workload")]
    workload: Mix,
    /// Constant of the Zipf distribution of popularity [default: 0.99]
    #[arg(long, value_name = "CONSTANT", conflicts_with = "distribution", help_heading = "Workload")]
    zipf: Option<f64>,
    /// Popularity: uniform, zipf:CONSTANT, latest:CONSTANT or hotspot:RECORD_SHARE:ACCESS_SHARE
    #[arg(long, help_heading = "Workload")]
    distribution: Option<Distribution>,
    /// Share of reads for absent keys [default: 0.5 with `get`, else 0]
    #[arg(long, value_name = "SHARE", help_heading = "Workload")]
    zero_result: Option<f64>,
    /// Measured operations for each configuration, mapping and number of threads
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Workload")]
    ops: Option<u64>,
    /// Operations before measuring
    #[arg(long, help_heading = "Workload")]
    warmup: Option<u64>,
    /// Turns in which configurations alternate
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Workload")]
    rounds: Option<u32>,
    /// Hot-key mappings; the table shows medians over them
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Workload")]
    salts: Option<u32>,
    /// Threads, one or more numbers
    #[arg(long, value_delimiter = ',', default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Workload")]
    threads: Vec<u32>,
    /// Seed of everything random
    #[arg(long, default_value_t = 1, help_heading = "Workload")]
    seed: u64,

    /// Read through the page cache instead of direct I/O
    #[arg(long, help_heading = "Machine")]
    buffered: bool,
    /// Block cache for data [default: none]
    #[arg(long, value_name = "SIZE", help_heading = "Machine")]
    block_cache: Option<Size>,
    /// Print one JSON document instead of a table
    #[arg(long, help_heading = "Machine")]
    json: bool,
}

fn parse_mix(text: &str) -> Result<Mix, String> {
    text.parse().map_err(|error: springbloom_workload::WorkloadError| error.to_string())
}

impl Compare {
    /// Runs the comparison and prints the report.
    pub(crate) fn run(&self) -> Result<()> {
        let defaults = self.preset.defaults();
        let records = self.records(defaults.records, self.value_bytes.unwrap_or(defaults.value_bytes))?;
        let stream = self.stream(&records.keys)?;
        let common = self.common()?;
        let temporary;
        let dir = match &self.dir {
            Some(dir) => dir.as_path(),
            None => {
                temporary =
                    tempfile::Builder::new().prefix("springbloom-").tempdir().context("temporary folder")?;
                temporary.path()
            }
        };
        fs::create_dir_all(dir)
            .map_err(|error| bad_input(format!("cannot create {}: {error}", dir.display())))?;
        if !self.buffered {
            require_direct_io(dir)?;
        }
        self.require_space(dir, &records)?;

        let manifest = self.manifest(&records, &common)?;
        let folder = Folder::open(dir, self.reuse, &manifest, &records, &common)?;
        let mut databases = Vec::new();
        for config in &self.configs {
            let built = folder.database(config, &common)?;
            databases.push((*config, built.path, built.load));
        }
        let plan = Plan {
            records: &records,
            shape: &folder.shape,
            common: &common,
            stream,
            seed: self.seed,
            salts: self.salts.unwrap_or(defaults.salts),
            threads: self.threads.clone(),
            warmup_ops: self.warmup.unwrap_or(defaults.warmup_ops),
            ops: self.ops.unwrap_or(defaults.ops),
            rounds: self.rounds.unwrap_or(defaults.rounds),
            databases,
        };
        let rows = bench::run(&plan)?;
        let header = self.header(&plan, &manifest);
        let mut out = stdout().lock();
        if self.json {
            report::write_json(&mut out, &header, &rows)
        } else {
            report::write_table(&mut out, &header, &rows)
        }
    }

    fn records(&self, default_records: u64, value_bytes: usize) -> Result<Records> {
        const MAX_VALUE_BYTES: usize = 1 << 24;
        if !(value::MIN_VALUE_BYTES..=MAX_VALUE_BYTES).contains(&value_bytes) {
            return Err(bad_input(format!(
                "--value-bytes: got {value_bytes}, expected {} to {MAX_VALUE_BYTES} (a value carries its record and version)",
                value::MIN_VALUE_BYTES
            )));
        }
        let keys = match &self.keys {
            Some(path) => KeySpace::File(
                FileKeys::read(path, self.records).map_err(|error| bad_input(error.to_string()))?,
            ),
            None => KeySpace::Synthetic { records: self.records.unwrap_or(default_records) },
        };
        Ok(Records { keys, value_bytes, seed: self.seed })
    }

    fn stream(&self, keys: &KeySpace) -> Result<StreamSettings> {
        let distribution = match (self.distribution, self.zipf) {
            (Some(distribution), _) => distribution,
            (None, Some(exponent)) => Distribution::Zipf { exponent },
            (None, None) => self.workload.default_distribution(),
        };
        let zero_result_ratio = self.zero_result.unwrap_or(if self.workload == Mix::GET { 0.5 } else { 0.0 });
        let settings = StreamSettings {
            mix: self.workload,
            distribution,
            movement: Movement::Still,
            zero_result_ratio,
            salt: 0,
            seed: self.seed,
            stream: 0,
            streams: 1,
        };
        // Tried here so that a bad number is reported before minutes of loading.
        OperationStream::new(settings, keys).map_err(|error| bad_input(error.to_string()))?;
        Ok(settings)
    }

    fn common(&self) -> Result<CommonSettings> {
        const DEFAULT_BUDGET_BITS: f64 = 4.0;
        let mut names: Vec<String> = self.configs.iter().map(Config::to_string).collect();
        names.sort();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(bad_input(format!("--configs: {} is there twice", twice[0])));
        }
        // Tried here so that a bad setting is reported before minutes of loading.
        Elastic::builder()
            .segment_data_bytes(self.segment_bytes.bytes)
            .build()
            .map_err(|error| bad_input(format!("--segment-bytes {}: {error}", self.segment_bytes)))?;
        Ok(CommonSettings {
            tree: self.preset.shape(),
            buffered: self.buffered,
            block_cache_bytes: self.block_cache.map(|size| size.bytes).filter(|&bytes| bytes > 0),
            elastic: ElasticSettings {
                policy: self.policy,
                units: self.units,
                segment_bytes: self.segment_bytes.bytes,
                lifetime: self.lifetime,
            },
            budget_bytes: self.budget.map(|size| size.bytes),
            budget_bits: self.configs.iter().find_map(Config::elastic_bits).unwrap_or(DEFAULT_BUDGET_BITS),
        })
    }

    fn manifest(&self, records: &Records, common: &CommonSettings) -> Result<TreeManifest> {
        let keys = match &self.keys {
            None => "synthetic".to_owned(),
            Some(path) => {
                // By content: the same file at another place holds the same keys.
                let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
                format!("keys of file {}", &blake3::hash(&bytes).to_hex()[..16])
            }
        };
        Ok(TreeManifest {
            format_version: FORMAT_VERSION,
            rocksdb: ROCKSDB_VERSION.to_owned(),
            keys,
            records: records.keys.records(),
            value_bytes: records.value_bytes,
            seed: records.seed,
            shape: common.tree,
        })
    }

    /// Room for the tree, a database for each configuration, and what a compaction needs besides.
    fn require_space(&self, dir: &Path, records: &Records) -> Result<()> {
        if self.reuse {
            return Ok(());
        }
        const OVERHEAD: f64 = 1.15;
        let copies = self.configs.len() as u64 + 1;
        let needed = (records.record_bytes() * records.keys.records() * copies) as f64 * OVERHEAD;
        let disk = rustix::fs::statvfs(dir)
            .with_context(|| format!("cannot ask for the space in {}", dir.display()))?;
        let free = disk.f_bavail as f64 * disk.f_frsize as f64;
        if free < needed {
            let [needed, free] = [needed, free].map(|bytes| Size { bytes: bytes as u64 });
            return Err(bad_input(format!(
                "{} has {free} free, this comparison needs about {needed}: choose another --dir, fewer --configs or \
                 fewer --records",
                dir.display()
            )));
        }
        Ok(())
    }

    fn header(&self, plan: &Plan<'_>, manifest: &TreeManifest) -> Header {
        let (levels, tree) = Header::describe_tree(plan.shape);
        let elastic = &plan.common.elastic;
        let entries = plan.shape.entries();
        Header {
            machine: Machine::this(),
            preset: self.preset,
            keys: manifest.keys.clone(),
            records: manifest.records,
            value_bytes: manifest.value_bytes,
            workload: self.workload.name(),
            distribution: plan.stream.distribution.to_string(),
            zero_result_ratio: plan.stream.zero_result_ratio,
            warmup_ops: plan.warmup_ops,
            ops: plan.ops,
            rounds: plan.rounds,
            salts: plan.salts,
            seed: self.seed,
            direct_io: !self.buffered,
            block_cache_bytes: plan.common.block_cache_bytes.unwrap_or(0),
            budget_bytes: plan.common.budget_bytes(&Config::None, entries),
            elastic: format!(
                "units {}, segments of {}, policy {}",
                self.units, self.segment_bytes, elastic.policy
            ),
            levels,
            tree,
        }
    }
}

/// RocksDB would report a refusal as an unspecific I/O error of its first table.
fn require_direct_io(dir: &Path) -> Result<()> {
    let probe = dir.join(".direct-io-probe");
    let write = || -> std::io::Result<()> {
        fs::write(&probe, [0; 4096])?;
        rustix::fs::open(&probe, OFlags::RDONLY | OFlags::DIRECT, rustix::fs::Mode::empty())?;
        Ok(())
    };
    let result = write();
    // Nothing depends on the probe going away, and its creation may be what failed.
    _ = fs::remove_file(&probe);
    result.map_err(|error| match error.raw_os_error() {
        Some(code) if code == rustix::io::Errno::INVAL.raw_os_error() => bad_input(format!(
            "the file system of {} refuses direct I/O: choose another --dir, or give --buffered to go through the page cache",
            dir.display()
        )),
        _ => bad_input(format!("cannot write to {}: {error}", dir.display())),
    })
}
