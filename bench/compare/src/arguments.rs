//! The flags of `springbloom compare`.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::Args;
use springbloom_console::sizes::{self, Size};
use springbloom_workload::{AbsentKeys, Distribution, Mix, Set, value};

use crate::database::config::Config;
use crate::database::preset::Preset;
use crate::settings::{Settings, WHOLE_MAX};

const ROUNDS_MAX: u64 = 1_000_000;
/// A value carries its record and version.
pub(crate) const VALUE_BYTES: RangeInclusive<u64> = value::MIN_VALUE_BYTES as u64..=1 << 24;

/// Compare elastic filters with the filters of RocksDB, at the same memory and on the same tree
///
/// Loads one tree, copies it for each configuration, runs the workload on all copies in turns, verifies every answer, and prints one
/// table.
#[derive(Args, Debug)]
#[command(args_override_self = true)]
pub struct Compare {
    /// Shape of the tree, number of records and operations
    #[arg(long, value_enum, default_value = "small", help_heading = "Data")]
    pub(crate) preset: Preset,
    /// File of keys, one per line, instead of synthetic keys. With --trace: the keys that were in the database before the trace; 0x
    /// begins a key in hexadecimal
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    pub(crate) keys: Option<PathBuf>,
    /// Records to load, into each column family (with --keys: at most this many)
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

    /// Configurations, with average bits per key: none, bloom:BITS, ribbon:BITS, partitioned:BITS, elastic:BITS; ribbon:BITS/BITS/... gives
    /// each column family its own bits (0: no filter; the last value holds for the rest); partitioned-ribbon:BITS;
    /// monkey-bloom:BITS and monkey-ribbon:BITS give each level its own bits, as Monkey does; elasticbf:BITS is ElasticBF as published
    /// (ATC'19), and elasticbf-file:BITS its first version (HotStorage'18, one segment a table). Elastic configurations take settings of
    /// the filters, for example elastic:4@policy=monkey@units=bloom:6x4 or elasticbf:4@segment_lifetime_gets=10000; elastic:auto takes the
    /// part of the block cache at which it reads least, and elastic:4@charge_to_block_cache=true one of 4 bits per key. All take
    /// options of RocksDB's tables (index_block_restart_interval, index_type, block_size, metadata_block_size, index_shortening) and a
    /// cache_kind, and row_cache, the share of the memory for caches that RocksDB's cache of records has, such as
    /// partitioned:10@index_block_restart_interval=16@row_cache=.3 [default:
    /// none,bloom:4,bloom:10,ribbon:4,partitioned:10,monkey-bloom:4,monkey-ribbon:4,elastic:4; with --load-only: bloom:10,elastic:4; with
    /// --preset families: none,ribbon:4,monkey-ribbon:4,elastic:4]
    #[arg(long, value_delimiter = ',', help_heading = "Filters")]
    pub(crate) configs: Option<Vec<Config>>,
    /// Memory of elastic filters, and of caches that hold only filters [default: BITS of the first elastic configuration]
    #[arg(long, value_name = "SIZE", value_parser = sizes::within(0..=256 << 40, 1), help_heading = "Filters")]
    pub(crate) budget: Option<Size>,

    /// Replay a recorded workload: a query trace of RocksDB (DB::StartTrace), or lines of get, put, delete or seek, a comma and a key, as
    /// text or in hexadecimal (0x...); gzip is recognized. A key is present if --keys has it or the trace wrote it before. Values have the
    /// size of --value-bytes [default: the mean of the trace]
    #[arg(long, value_name = "FILE", help_heading = "Workload",
        conflicts_with_all = ["records", "workload", "distribution", "absent_share", "absent", "hot_key_seeds"])]
    pub(crate) trace: Option<PathBuf>,
    /// Operations: get, a core workload of YCSB, a to f, or shares that sum to 1 of read, update, insert, scan, rmw (read-modify-write),
    /// seek and seek-type, such as read=.9,update=.1. With seeks, keys are edges of a graph (a source of 24 bytes, which is the prefix in
    /// filters, a type, a target): seek reads the edges of a source, seek-type those of a source and type, and filters hold whole keys only
    /// if there are reads
    #[arg(long, default_value = "get", value_parser = parse_mix, help_heading = "Workload")]
    pub(crate) workload: Mix,
    /// Popularity: uniform, zipf:CONSTANT, latest:CONSTANT, or ranges:RECORDS:CONSTANT (ranges of this many neighbouring keys under Zipf,
    /// with the absent keys among them; keys lie in the order of their records) [default: zipf:0.99]
    #[arg(long, help_heading = "Workload")]
    pub(crate) distribution: Option<Distribution>,
    /// Share of reads that ask for absent keys [default: 0.5 with `get`, else 0]
    #[arg(long, value_name = "SHARE", value_parser = sizes::number_within(0.0..=1.0), help_heading = "Workload")]
    pub(crate) absent_share: Option<f64>,
    /// Which absent keys are looked up
    #[arg(long, value_enum, value_name = "KEYS", default_value_t, help_heading = "Workload")]
    pub(crate) absent: AbsentKeys,
    /// Measured operations per configuration, choice of hot keys and number of threads
    #[arg(long, value_parser = sizes::whole_within::<u64>(1..=WHOLE_MAX), help_heading = "Workload")]
    pub(crate) ops: Option<u64>,
    /// Operations before the measurement
    #[arg(long, value_parser = sizes::whole_within::<u64>(0..=WHOLE_MAX), help_heading = "Workload")]
    pub(crate) warmup: Option<u64>,
    /// Rounds in which configurations take turns
    #[arg(long, value_parser = sizes::whole_within::<u32>(1..=ROUNDS_MAX), help_heading = "Workload")]
    pub(crate) rounds: Option<u32>,
    /// Random choices of the hot keys; the table shows medians over them
    #[arg(long, value_parser = sizes::whole_within::<u32>(1..=ROUNDS_MAX), help_heading = "Workload")]
    pub(crate) hot_key_seeds: Option<u32>,
    /// Numbers of threads, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "1", help_heading = "Workload",
        value_parser = sizes::whole_within::<u32>(1..=1024))]
    pub(crate) threads: Vec<u32>,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1, value_parser = sizes::whole_within::<u64>(0..=u64::MAX), help_heading = "Workload")]
    pub(crate) seed: u64,

    /// Measure loads only, this many times for each configuration, in turns, as ratios to bloom:10 (or to the first configuration)
    #[arg(long, value_name = "ROUNDS", num_args = 0..=1, require_equals = true, default_missing_value = "5", help_heading = "Load",
        value_parser = sizes::whole_within::<u32>(1..=ROUNDS_MAX),
        conflicts_with_all = ["absent_share", "workload", "absent", "ops", "warmup", "rounds", "hot_key_seeds", "threads", "reuse"])]
    pub(crate) load_only: Option<u32>,

    /// Block cache for data [default: none]
    #[arg(long, value_name = "SIZE", help_heading = "Machine")]
    pub(crate) block_cache: Option<Size>,
    /// Total memory of each configuration, in bytes per record: a block cache that pays for data, indexes and filters. Stock filters and
    /// indexes are set up as RocksDB recommends: in the cache with high priority, and in partitions. Filters that are not called
    /// partitioned are whole and stay in the cache, as do indexes with index_type=kBinarySearch. The report names the stock configuration
    /// that reads least
    #[arg(long, value_name = "BYTES", value_parser = sizes::number_within(0.01..=1e6), conflicts_with = "block_cache",
        help_heading = "Machine")]
    pub(crate) memory_per_key: Option<f64>,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Machine")]
    pub(crate) json: bool,
    #[command(flatten, next_help_heading = "Workload")]
    pub(crate) set: Set<Settings>,
}

fn parse_mix(text: &str) -> Result<Mix, String> {
    let mix = if text.contains('=') { Mix::of_shares(text) } else { text.parse() };
    mix.map_err(|error| error.to_string())
}
