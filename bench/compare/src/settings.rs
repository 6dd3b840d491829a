//! The settings of `springbloom compare`, by name.

use clap::Parser;
use springbloom_console::sizes;
use springbloom_workload::{FamilySettings, Movement};

use crate::database::block_cache::CacheKind;

/// Of records and operations: more than any machine makes.
pub(crate) const WHOLE_MAX: u64 = 1_000_000_000_000;

/// Each is a flag of its name.
#[derive(Parser, Debug)]
#[command(no_binary_name = true, disable_help_flag = true, args_override_self = true)]
pub(crate) struct Settings {
    /// Part of a trace that fills the databases: its writes are loaded, its other operations left out. The warm-up is half of the rest
    /// [default: 0.5; with --keys 0]
    #[arg(long = "load_share", value_name = "SHARE", value_parser = sizes::number_within(0.0..=0.99))]
    pub(crate) load_share: Option<f64>,
    /// Movement of the popular keys: none, jump:LOOKUPS (all at once, to other keys) or drift:LOOKUPS (each key at its own time, all
    /// within this many lookups). Operations count as lookups, those of the warm-up and of all threads together
    #[arg(long = "movement", value_name = "MOVEMENT", default_value_t)]
    pub(crate) movement: Movement,
    #[command(flatten)]
    pub(crate) family: FamilySettings,
    /// Column families are databases of their own
    #[arg(long = "family_databases")]
    pub(crate) family_databases: bool,
    /// Reads that are one MultiGet; a write or a scan ends the batch before it. Wasted reads are counted only if all keys are absent, as
    /// RocksDB does not tell which key of a batch it read a block for
    #[arg(long = "multi_get", value_name = "KEYS", value_parser = sizes::whole_within::<u32>(1..=10_000), default_value_t = 1,
        hide_default_value = true)]
    pub(crate) multi_get: u32,
    /// Records of a measured load [default: as many as the preset says]
    #[arg(long = "load_records", value_name = "RECORDS", value_parser = sizes::whole_within::<u64>(1..=WHOLE_MAX))]
    pub(crate) load_records: Option<u64>,
    /// Read through the page cache instead of direct I/O
    #[arg(long = "buffered")]
    pub(crate) buffered: bool,
    /// Kind of the block cache: lru, lru-one-shard, hyper-clock or tiered
    #[arg(long = "cache_kind", value_enum, value_name = "KIND", default_value = "lru")]
    pub(crate) cache_kind: CacheKind,
}
