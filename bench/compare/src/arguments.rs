//! The flags of `springbloom compare`.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::Args;
use springbloom_console::GivenFlags;
use springbloom_console::sizes::{self, Size};
use springbloom_rocksdb::{PolicyKind, SETTINGS, Setting, UnitSettings};
use springbloom_workload::{AbsentKeys, Distribution, Mix, Movement, value};

use crate::database::block_cache::CacheKind;
use crate::database::config::Config;
use crate::database::preset::Preset;

/// Of records and operations: more than any machine makes.
const WHOLE_MAX: u64 = 1_000_000_000_000;
const ROUNDS_MAX: u64 = 1_000_000;
/// A value carries its record and version.
pub(crate) const VALUE_BYTES: RangeInclusive<u64> = value::MIN_VALUE_BYTES as u64..=1 << 24;

/// Compare elastic filters with the filters of RocksDB, at the same memory and on the same tree
///
/// Loads one tree, makes a copy of it for each configuration, runs the workload on all copies in turns and prints one table.
/// Every answer is verified. The cost of loading is measured first, on separate databases.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
pub struct Compare {
    #[command(flatten)]
    pub(crate) given: GivenFlags,
    /// Shape of the tree, number of records and operations
    #[arg(long, value_enum, default_value = "small", help_heading = "Data")]
    pub(crate) preset: Preset,
    /// File of keys, one per line, instead of synthetic keys. With --trace: the keys that were in the database before the trace, where
    /// those that begin with 0x are in hexadecimal
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    pub(crate) keys: Option<PathBuf>,
    /// Records to load (with --keys: at most so many)
    #[arg(long, value_parser = sizes::whole_within::<u64>(1..=WHOLE_MAX), help_heading = "Data")]
    pub(crate) records: Option<u64>,
    /// Bytes per value
    #[arg(long, value_parser = sizes::whole_within::<usize>(VALUE_BYTES), help_heading = "Data")]
    pub(crate) value_bytes: Option<usize>,
    /// Folder for the databases, made if it is missing, and kept for --reuse [default: a temporary one]
    #[arg(long, help_heading = "Data")]
    pub(crate) dir: Option<PathBuf>,
    /// Reuse the databases in --dir if they were made with the same settings
    #[arg(long, requires = "dir", help_heading = "Data")]
    pub(crate) reuse: bool,

    /// Configurations, with average bits per key: none, bloom:BITS, ribbon:BITS, partitioned:BITS, elastic:BITS;
    /// monkey-bloom:BITS and monkey-ribbon:BITS give each level its own bits, as Monkey does; bloom:BITS@cache has whole filters in the
    /// block cache, or without one in a cache of the budget's size; mbf:BITS is SHaMBa's modular filters in such a cache, which
    /// skip modules that are not worth a read (mbf:BITS@thresholds=0/0: none); elasticbf:BITS is ElasticBF as published (ATC'19), and
    /// elasticbf-file:BITS its first version (HotStorage'18, one segment a table). Elastic configurations take settings of
    /// their own, for example elastic:4@policy=monkey@units=bloom:6x4 or elasticbf:4@segment_lifetime_gets=10000
    /// [default: none,bloom:4,bloom:10,ribbon:4,partitioned:10,monkey-bloom:4,monkey-ribbon:4,elastic:4; with --load-only:
    /// bloom:10,elastic:4; with --preset shamba:
    /// bloom:10,bloom:10@cache,mbf:10,mbf:10@thresholds=0/0,partitioned:10,elastic:10]
    #[arg(long, value_delimiter = ',', help_heading = "Filters")]
    pub(crate) configs: Option<Vec<Config>>,
    /// Memory of elastic filters, and of caches for filters alone [default: BITS of the first elastic configuration]
    #[arg(long, value_name = "SIZE", value_parser = sizes::within(0..=256 << 40, 1), help_heading = "Filters")]
    pub(crate) budget: Option<Size>,
    #[arg(long, help = help("policy"), default_value = default("policy"), help_heading = "Filters")]
    pub(crate) policy: PolicyKind,
    #[arg(long, help = help("units"), default_value = default("units"), help_heading = "Filters")]
    pub(crate) units: UnitSettings,
    #[arg(long, value_name = "SIZE", help = help("segment_data_bytes"), default_value = default("segment_data_bytes"),
        help_heading = "Filters")]
    pub(crate) segment_data_bytes: Size,
    #[arg(long, value_name = "VISITS", help = help("segment_lifetime_visits"), help_heading = "Filters",
        value_parser = sizes::whole_within::<u64>(1..=WHOLE_MAX))]
    pub(crate) segment_lifetime_visits: Option<u64>,
    /// Disable the negative cache, which remembers absent keys that the resident units let pass
    #[arg(long, help_heading = "Filters")]
    pub(crate) no_negative_cache: bool,
    /// Let tables that a compaction writes start without the hotness of the segments whose keys they hold
    #[arg(long, help_heading = "Filters")]
    pub(crate) no_inheritance: bool,

    /// Replay a recorded workload: a query trace of RocksDB (DB::StartTrace), or lines such as get,KEY with get, put, delete or seek
    /// and a key as it is or in hexadecimal (0x...); also compressed by gzip. A key is there if --keys has it or the trace wrote it
    /// before, and is absent otherwise. Values have the size of --value-bytes [default: the mean of the trace]
    #[arg(long, value_name = "FILE", help_heading = "Workload",
        conflicts_with_all = ["records", "workload", "mix", "zipf", "distribution", "zero_result", "absent", "movement", "salts"])]
    pub(crate) trace: Option<PathBuf>,
    /// Part of the trace that fills the databases: its writes are loaded, its other operations left out. The warm-up is half of the
    /// rest [default: 0.5; with --keys 0]
    #[arg(long, value_name = "SHARE", value_parser = sizes::number_within(0.0..=0.99), help_heading = "Workload")]
    pub(crate) load_share: Option<f64>,
    /// Operations: get, or a core workload of YCSB, a to f
    #[arg(long, default_value = "get", value_parser = parse_mix, help_heading = "Workload")]
    pub(crate) workload: Mix,
    /// Shares of operations that sum to 1, in place of a workload: of read, update, insert, scan and rmw (read-modify-write), such as
    /// read=.9,update=.1
    #[arg(long, value_name = "SHARES", value_parser = parse_shares, conflicts_with = "workload", help_heading = "Workload")]
    pub(crate) mix: Option<Mix>,
    /// Exponent of the Zipf distribution of popularity [default: 0.99]
    #[arg(long, value_name = "CONSTANT", conflicts_with = "distribution", value_parser = sizes::number_within(0.0..=100.0),
        help_heading = "Workload")]
    pub(crate) zipf: Option<f64>,
    /// Popularity: uniform, zipf:CONSTANT, latest:CONSTANT, hotspot:RECORD_SHARE:ACCESS_SHARE, or ranges:RECORDS:CONSTANT (ranges of so
    /// many neighbouring keys under Zipf, with the absent keys among them; keys lie in the order of their records)
    #[arg(long, help_heading = "Workload")]
    pub(crate) distribution: Option<Distribution>,
    /// Share of reads that ask for absent keys [default: 0.5 with `get`, else 0]
    #[arg(long, value_name = "SHARE", value_parser = sizes::number_within(0.0..=1.0), help_heading = "Workload")]
    pub(crate) zero_result: Option<f64>,
    /// Absent keys that are asked for: popular (hot ones come back, as hot present keys do) or fresh (each once and never again,
    /// as upserts and deduplication do)
    #[arg(long, value_name = "KEYS", default_value_t, help_heading = "Workload")]
    pub(crate) absent: AbsentKeys,
    /// Movement of the popular keys: none, jump:LOOKUPS (all at once, to other keys), drift:LOOKUPS (each key at its own time, all
    /// of them in so many lookups) or alternate:LOOKUPS (all at once, there and back between two sets). Operations count as
    /// lookups, those of the warm-up and of all threads together
    #[arg(long, default_value_t, help_heading = "Workload")]
    pub(crate) movement: Movement,
    /// Also show the wasted reads per get in each window of so many lookups, and after how many lookups each configuration has
    /// recovered from a jump: the first window that wastes at most 10% more than the last one before the jump
    #[arg(long, value_name = "LOOKUPS", value_parser = sizes::whole_within::<u64>(1..=WHOLE_MAX), help_heading = "Workload")]
    pub(crate) window: Option<u64>,
    /// Reads that are one MultiGet; a write or a scan ends the batch before it. Latencies are those of batches, and wasted reads are
    /// counted only if all keys are absent, as RocksDB does not tell which key of a batch it read a block for [default: 1, each is a Get]
    #[arg(long, value_name = "KEYS", value_parser = sizes::whole_within::<u32>(1..=10_000), default_value_t = 1,
        hide_default_value = true, conflicts_with = "window", help_heading = "Workload")]
    pub(crate) multi_get: u32,
    /// Measured operations per configuration, mapping and number of threads
    #[arg(long, value_parser = sizes::whole_within::<u64>(1..=WHOLE_MAX), help_heading = "Workload")]
    pub(crate) ops: Option<u64>,
    /// Operations before the measurement
    #[arg(long, value_parser = sizes::whole_within::<u64>(0..=WHOLE_MAX), help_heading = "Workload")]
    pub(crate) warmup: Option<u64>,
    /// Rounds in which configurations take turns
    #[arg(long, value_parser = sizes::whole_within::<u32>(1..=ROUNDS_MAX), help_heading = "Workload")]
    pub(crate) rounds: Option<u32>,
    /// Hot-key mappings: random choices of popular keys; the table shows medians over them
    #[arg(long, value_parser = sizes::whole_within::<u32>(1..=ROUNDS_MAX), help_heading = "Workload")]
    pub(crate) salts: Option<u32>,
    /// Numbers of threads, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "1", help_heading = "Workload",
        value_parser = sizes::whole_within::<u32>(1..=1024))]
    pub(crate) threads: Vec<u32>,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1, value_parser = sizes::whole_within::<u64>(0..=u64::MAX), help_heading = "Workload")]
    pub(crate) seed: u64,

    /// Records of a measured load [default: a sample; with --load-only a larger one]
    #[arg(long, value_parser = sizes::whole_within::<u64>(1..=WHOLE_MAX), help_heading = "Load")]
    pub(crate) load_records: Option<u64>,
    /// Measured loads per configuration, in turns; 0 disables them [default: 1; with --load-only 5]
    #[arg(long, value_name = "ROUNDS", value_parser = sizes::whole_within::<u32>(0..=ROUNDS_MAX), help_heading = "Load")]
    pub(crate) load_rounds: Option<u32>,
    /// Measure loads only, as ratios to bloom:10 (or else to the first configuration)
    #[arg(long, help_heading = "Load")]
    pub(crate) load_only: bool,

    /// Write to the write-ahead log, too: it is off by default, as it costs every configuration the same
    #[arg(long, help_heading = "Machine")]
    pub(crate) wal: bool,
    /// Let each read of a table or a filter take so many milliseconds longer, as on a disk with that seek time. A read that goes on where
    /// the last one of its file ended does not
    #[arg(long, value_name = "MILLISECONDS", value_parser = sizes::number_within(0.001..=1000.0), help_heading = "Machine")]
    pub(crate) seek_ms: Option<f64>,
    /// Read through the page cache instead of direct I/O
    #[arg(long, help_heading = "Machine")]
    pub(crate) buffered: bool,
    /// Block cache for data [default: none]
    #[arg(long, value_name = "SIZE", help_heading = "Machine")]
    pub(crate) block_cache: Option<Size>,
    /// Kind of the block cache
    #[arg(
        long,
        value_enum,
        value_name = "KIND",
        default_value = "lru",
        requires = "block_cache",
        help_heading = "Machine"
    )]
    pub(crate) cache_kind: CacheKind,
    /// The block cache pays for all memory: indexes are partitioned and cached, stock filters are cached too, both with high
    /// priority, and the budget of elastic filters is charged to it
    #[arg(long, requires = "block_cache", help_heading = "Machine")]
    pub(crate) one_cache: bool,
    /// In the JSON, also show each segment of elastic filters: its keys, use and units at the end of a run
    #[arg(long, requires = "json", help_heading = "Machine")]
    pub(crate) segments: bool,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Machine")]
    pub(crate) json: bool,
    /// Also draw the figures of --preset shamba to this .svg or .png file
    #[arg(long, value_name = "FILE", help_heading = "Machine")]
    pub(crate) plot: Option<PathBuf>,
}

/// The setting of Springbloom that a flag sets.
fn setting(name: &str) -> &'static Setting {
    SETTINGS.iter().find(|setting| setting.name == name).expect("flags name settings that exist")
}

/// What the setting does and takes, without the name that it has in Rust.
fn help(name: &str) -> String {
    let Setting { help, takes, .. } = setting(name);
    let does = help.split(" (`").next().unwrap_or(help);
    let (first, rest) = does.split_at(1);
    format!("{}{rest}: {takes}", first.to_uppercase())
}

fn default(name: &str) -> &'static str {
    setting(name).default
}

fn parse_shares(text: &str) -> Result<Mix, String> {
    Mix::of_shares(text).map_err(|error| error.to_string())
}

fn parse_mix(text: &str) -> Result<Mix, String> {
    text.parse().map_err(|error: springbloom_workload::WorkloadError| error.to_string())
}
