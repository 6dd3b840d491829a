//! `springbloom compare`: one workload on one tree under many filters.

mod inputs;
mod place;

use std::fs;
use std::io::stdout;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use springbloom_console::bad_input;
use springbloom_console::sizes::Size;
use springbloom_rocksdb::{PolicyKind, UnitSettings};
use springbloom_workload::{Distribution, Mix};

use crate::database::build::Folder;
use crate::database::config::Config;
use crate::database::load::Records;
use crate::database::options::CommonSettings;
use crate::database::preset::{Defaults, Preset};
use crate::report::{self, Header, Loads, Lookups, comparison, loads, shamba_plot};
use crate::run::{self, Entrant, LoadCost, LoadPlan, Plan, shamba};

/// Enough for a median and a spread of ratios.
const LOAD_ONLY_ROUNDS: u32 = 5;

/// Compare elastic filters with every filter of RocksDB, at the same memory and on the same tree
///
/// Loads one tree, makes a database of it for each configuration, runs the workload on them in turns and prints one table.
/// Every answer is verified. What a load costs is measured before, on databases of their own.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
pub struct Compare {
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
    /// [default: none,bloom:4,bloom:10,ribbon:4,partitioned:10,monkey:4,elastic:4; to load: bloom:10,elastic:4; shamba:
    /// bloom:10,partitioned:10,elastic:10]
    #[arg(long, value_delimiter = ',', help_heading = "Filters")]
    configs: Option<Vec<Config>>,
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
    #[arg(long, value_name = "SIZE", default_value = "8MiB", help_heading = "Filters")]
    segment_bytes: Size,
    /// Lookups after which a segment counts as expired (multi-queue)
    #[arg(long, value_name = "LOOKUPS", help_heading = "Filters")]
    lifetime: Option<u64>,
    /// Remember no absent keys that the resident units let pass
    #[arg(long, help_heading = "Filters")]
    no_absences: bool,

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

    /// Records of a measured load: the first so many [default: a sample; with --load-only a larger one]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1 << 40), help_heading = "Load")]
    load_records: Option<u64>,
    /// Measured loads of each configuration, in turns; 0 for none [default: 1; with --load-only 5]
    #[arg(long, value_name = "ROUNDS", help_heading = "Load")]
    load_rounds: Option<u32>,
    /// Measure loads alone, as ratios to bloom:10 (or to the first configuration)
    #[arg(long, help_heading = "Load")]
    load_only: bool,

    /// Read through the page cache instead of direct I/O
    #[arg(long, help_heading = "Machine")]
    buffered: bool,
    /// Block cache for data [default: none]
    #[arg(long, value_name = "SIZE", help_heading = "Machine")]
    block_cache: Option<Size>,
    /// Print one JSON document instead of a table
    #[arg(long, help_heading = "Machine")]
    json: bool,
    /// Draw the figures as well (preset shamba): .svg or .png
    #[arg(long, value_name = "FILE", help_heading = "Machine")]
    plot: Option<PathBuf>,
}

fn parse_mix(text: &str) -> Result<Mix, String> {
    text.parse().map_err(|error: springbloom_workload::WorkloadError| error.to_string())
}

impl Compare {
    /// Runs the comparison and prints the report.
    pub fn run(&self) -> Result<()> {
        self.require_sense()?;
        let defaults = self.preset.defaults();
        let records = self.records(&defaults)?;
        let configs = self.configs()?;
        let common = self.common(&configs)?;
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
            place::require_direct_io(dir)?;
        }
        let work = Work { dir, records, configs, common, defaults };
        if self.load_only { self.compare_loads(&work) } else { self.compare_lookups(&work) }
    }

    fn compare_loads(&self, work: &Work<'_>) -> Result<()> {
        let plan = self.load_plan(work, work.defaults.load_only_records, LOAD_ONLY_ROUNDS);
        place::require_space(work.dir, work.records.record_bytes() * plan.load_records, 2)?;
        let (rows, shape) = run::run_loads(&plan)?;
        let header = Header { loads: Some(plan.described()), ..self.header(work, &shape)? };
        let mut out = stdout().lock();
        if self.json {
            loads::write_json(&mut out, &header, &rows)
        } else {
            loads::write_table(&mut out, &header, &rows)
        }
    }

    fn compare_lookups(&self, work: &Work<'_>) -> Result<()> {
        let Work { dir, records, configs, common, defaults } = work;
        let stream = self.stream(&records.keys)?;
        let manifest = self.manifest(records, common)?;
        if !self.reuse {
            let data_bytes = records.record_bytes() * records.keys.records();
            place::require_space(dir, data_bytes, configs.len() as u64 + 1)?;
        }
        let folder = Folder::open(dir, self.reuse, &manifest, records, common)?;
        let load_plan = self.load_plan(work, defaults.load_records, defaults.load_rounds);
        let load_rows = if load_plan.rounds > 0 { run::run_loads(&load_plan)?.0 } else { Vec::new() };
        let entrants = configs
            .iter()
            .map(|config| {
                let path = folder.database(config, common)?;
                Ok(Entrant { config: *config, path, load: LoadCost::of(&load_rows, config) })
            })
            .collect::<Result<Vec<_>>>()?;
        let plan = Plan {
            records,
            shape: &folder.shape,
            common,
            stream,
            seed: self.seed,
            salts: self.salts.unwrap_or(defaults.salts),
            threads: self.threads.clone(),
            warmup_ops: self.warmup.unwrap_or(defaults.warmup_ops),
            ops: self.ops.unwrap_or(defaults.ops),
            rounds: self.rounds.unwrap_or(defaults.rounds),
            entrants: &entrants,
            label: String::new(),
        };
        let mut header = self.header(work, &folder.shape)?;
        header.loads = (load_plan.rounds > 0).then(|| load_plan.described());
        if self.preset == Preset::Shamba {
            return self.shamba(&plan, header);
        }
        header.lookups = Some(Lookups {
            workload: self.workload.name(),
            distribution: plan.stream.distribution.to_string(),
            zero_result_ratio: plan.stream.zero_result_ratio,
            warmup_ops: plan.warmup_ops,
            ops: plan.ops,
            rounds: plan.rounds,
            salts: plan.salts,
        });
        let rows = run::run(&plan)?;
        let mut out = stdout().lock();
        if self.json {
            comparison::write_json(&mut out, &header, &rows, &load_rows)
        } else {
            comparison::write_table(&mut out, &header, &rows)
        }
    }

    fn shamba(&self, plan: &Plan<'_>, header: Header) -> Result<()> {
        let exponent = self.zipf.unwrap_or(shamba::ZIPF_EXPONENT);
        let experiment = shamba::run(plan, exponent)?;
        let mut out = stdout().lock();
        if self.json {
            report::shamba::write_json(&mut out, &header, &experiment)?;
        } else {
            report::shamba::write_table(&mut out, &header, &experiment)?;
        }
        self.plot.as_ref().map_or(Ok(()), |path| shamba_plot::draw(path, &experiment))
    }

    fn load_plan<'a>(&self, work: &'a Work<'_>, records: u64, rounds: u32) -> LoadPlan<'a> {
        LoadPlan {
            dir: work.dir,
            configs: &work.configs,
            records: &work.records,
            common: &work.common,
            load_records: self.load_records.unwrap_or(records).min(work.records.keys.records()),
            rounds: self.load_rounds.unwrap_or(rounds),
        }
    }
}

impl LoadPlan<'_> {
    fn described(&self) -> Loads {
        Loads { load_records: self.load_records, load_rounds: self.rounds }
    }
}

/// What the command line asks for, made ready.
struct Work<'a> {
    dir: &'a Path,
    records: Records,
    configs: Vec<Config>,
    common: CommonSettings,
    defaults: Defaults,
}
