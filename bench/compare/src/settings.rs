//! Settings of experiments, which `--set NAME=VALUE` gives: they are rarely changed otherwise.

use std::ops::Deref;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, CommandFactory, FromArgMatches, Parser};
use springbloom_console::GivenFlags;
use springbloom_console::sizes;
use springbloom_workload::{Movement, Shares, Traffic};

use crate::arguments::WHOLE_MAX;
use crate::database::block_cache::CacheKind;

/// All of them are open at a time.
const FAMILIES_MAX: u64 = 256;

/// The settings by name.
#[derive(Parser, Debug)]
#[command(no_binary_name = true, disable_help_flag = true, args_override_self = true)]
pub(crate) struct Settings {
    /// Part of a trace that fills the databases: its writes are loaded, its other operations left out. The warm-up is half of the rest
    /// [default: 0.5; with --keys 0]
    #[arg(long = "load_share", value_name = "SHARE", value_parser = sizes::number_within(0.0..=0.99))]
    pub(crate) load_share: Option<f64>,
    /// Movement of the popular keys: none, jump:LOOKUPS (all at once, to other keys), drift:LOOKUPS (each key at its own time, all
    /// within this many lookups) or alternate:LOOKUPS (all at once, there and back between two sets). Operations count as lookups, those
    /// of the warm-up and of all threads together
    #[arg(long = "movement", value_name = "MOVEMENT", default_value_t)]
    pub(crate) movement: Movement,
    /// Also show the wasted reads per get in each window of this many lookups, and after how many lookups each configuration has
    /// recovered from a jump: the first window that wastes at most 10% more than the last one before the jump
    #[arg(long = "window", value_name = "LOOKUPS", value_parser = sizes::whole_within::<u64>(1..=WHOLE_MAX))]
    pub(crate) window: Option<u64>,
    /// Column families of the same size, which share the budget and the block cache [default: 1; with --preset families 8]
    #[arg(long = "families", value_name = "FAMILIES", value_parser = sizes::whole_within::<u32>(1..=FAMILIES_MAX))]
    pub(crate) families: Option<u32>,
    /// Traffic of column families: equal, halving (each has half as much as the one before), or proportions such as 8/1/1, of which the
    /// last holds for all that follow [default: equal]
    #[arg(long = "family_traffic", value_name = "SHARES")]
    pub(crate) family_traffic: Option<Traffic>,
    /// Share of absent keys among the reads of each column family, such as 1/0: the first is asked for absent keys alone, the others for
    /// present ones [default: that of --zero-result]
    #[arg(long = "family_absent", value_name = "SHARES")]
    pub(crate) family_absent: Option<Shares>,
    /// Column families are databases of their own
    #[arg(long = "family_databases")]
    pub(crate) family_databases: bool,
    /// Reads that are one MultiGet; a write or a scan ends the batch before it. Latencies are those of batches, and wasted reads are
    /// counted only if all keys are absent, as RocksDB does not tell which key of a batch it read a block for
    #[arg(long = "multi_get", value_name = "KEYS", value_parser = sizes::whole_within::<u32>(1..=10_000), default_value_t = 1,
        hide_default_value = true, conflicts_with = "window")]
    pub(crate) multi_get: u32,
    /// Also show latencies, processor time, reads of indexes and units, and loads
    #[arg(long = "details")]
    pub(crate) details: bool,
    /// Records of a measured load [default: a sample; with --load-only a larger one]
    #[arg(long = "load_records", value_name = "RECORDS", value_parser = sizes::whole_within::<u64>(1..=WHOLE_MAX))]
    pub(crate) load_records: Option<u64>,
    /// Write to the write-ahead log, too: it is off by default, as it costs every configuration the same
    #[arg(long = "wal")]
    pub(crate) wal: bool,
    /// Let each read of a table or a filter take this many milliseconds longer, as on a disk with that seek time. A read that goes on
    /// where the last one of its file ended does not
    #[arg(long = "seek_ms", value_name = "MILLISECONDS", value_parser = sizes::number_within(0.001..=1000.0))]
    pub(crate) seek_ms: Option<f64>,
    /// Read through the page cache instead of direct I/O
    #[arg(long = "buffered")]
    pub(crate) buffered: bool,
    /// Kind of the block cache: lru, lru-one-shard or hyper-clock
    #[arg(long = "cache_kind", value_enum, value_name = "KIND", default_value = "lru")]
    pub(crate) cache_kind: CacheKind,
    /// The block cache pays for all memory: indexes are partitioned and cached, stock filters are cached too, both with high
    /// priority, and the budget of elastic filters is charged to it
    #[arg(long = "one_cache")]
    pub(crate) one_cache: bool,
}

/// What `--set` gives.
#[derive(Debug)]
pub(crate) struct Set {
    /// `--set NAME` for each.
    pub(crate) given: GivenFlags,
    settings: Settings,
}

fn names(settings: &Command) -> Vec<String> {
    settings.get_arguments().map(|setting| setting.get_id().to_string()).collect()
}

impl Deref for Set {
    type Target = Settings;

    fn deref(&self) -> &Settings {
        &self.settings
    }
}

impl FromArgMatches for Set {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let set: Vec<&String> = matches.get_many("set").into_iter().flatten().collect();
        let (command, name) =
            (Settings::command(), |setting: &str| setting.split('=').next().unwrap_or_default().to_owned());
        if let Some(setting) = set.iter().find(|setting| !names(&command).contains(&name(setting))) {
            let expected = names(&command).join(", ");
            let message =
                format!("--set {}: there is no such setting, expected one of {expected}\n", name(setting));
            return Err(clap::Error::raw(ErrorKind::UnknownArgument, message));
        }
        let settings = Settings::try_parse_from(set.iter().map(|setting| format!("--{setting}")))?;
        let given = set.iter().map(|setting| format!("--set {}", name(setting))).collect();
        Ok(Self { given: GivenFlags::of(given), settings })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Set {
    fn augment_args(command: Command) -> Command {
        let settings = Settings::command();
        let described = settings.get_arguments().map(|setting| {
            let value = if setting.get_action().takes_values() { setting.get_value_names() } else { None };
            let value = value.map_or_else(String::new, |names| format!("={}", names[0]));
            let help = setting.get_help().map(ToString::to_string).unwrap_or_default();
            format!("{}{value}: {help}", setting.get_id())
        });
        let described = described.collect::<Vec<_>>().join("\n\n");
        let set = Arg::new("set")
            .long("set")
            .value_name("NAME=VALUE")
            .action(ArgAction::Append)
            .help_heading("Workload");
        let set =
            set.help(format!("A setting of experiments: {} (--help says more)", names(&settings).join(", ")));
        command.arg(set.long_help(format!("A setting of experiments:\n\n{described}")))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
