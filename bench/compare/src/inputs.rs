//! From flags to records, operations, filters and the header of the report.

use std::path::Path;

use anyhow::Result;
use springbloom_console::bad_input;
use springbloom_console::sizes::Size;
use springbloom_records::{Clock, repeated};
use springbloom_workload::{FileKeys, KeySpace, Mix, Movement, OperationStream, StreamSettings};

use crate::arguments::{Compare, VALUE_BYTES};
use crate::database::ROCKSDB_VERSION;
use crate::database::block_cache::BlockCache;
use crate::database::config::Config;
use crate::database::elastic::ElasticSettings;
use crate::database::load::Records;
use crate::database::manifest::{FORMAT_VERSION, TreeManifest};
use crate::database::options::{CommonSettings, Prefixes};
use crate::database::preset::{Defaults, Preset};
use crate::database::shape::Shape;
use crate::recorded::Recorded;
use crate::report::Header;
use crate::run::Workload;

/// A block of data.
const CACHE_BYTES_MIN: u64 = 4096;
/// Others are compared with this configuration, or with the first one.
const BASELINE: &str = "bloom:10";
/// The name of keys that are computed from record numbers.
fn made_keys(keys: &KeySpace) -> Option<&'static str> {
    match keys {
        KeySpace::Synthetic { .. } => Some("synthetic"),
        KeySpace::Ordered { .. } => Some("synthetic, in order"),
        KeySpace::Edges { .. } => Some("synthetic edges of a graph"),
        KeySpace::File(_) | KeySpace::Trace(_) => None,
    }
}

/// The inputs of a comparison.
pub(crate) struct Inputs<'a> {
    pub(crate) clock: Clock,
    /// Folder for the databases.
    pub(crate) dir: &'a Path,
    pub(crate) records: Records,
    /// Of a trace.
    pub(crate) recorded: Option<Recorded>,
    pub(crate) configs: Vec<Config>,
    pub(crate) common: CommonSettings,
    pub(crate) defaults: Defaults,
}

impl Compare {
    /// Refuses flags that contradict each other.
    pub(crate) fn require_sense(&self) -> Result<()> {
        if let Some(twice) = repeated(&self.threads) {
            return Err(bad_input(format!("--threads: {twice} is given twice")));
        }
        if self.trace.is_some() && self.threads.len() > 1 {
            return Err(bad_input("--trace is replayed once: give --threads one number"));
        }
        if self.trace.is_some() && self.set.movement != Movement::Still {
            return Err(bad_input("--set movement: it needs no --trace, which says what is looked up"));
        }
        Ok(())
    }

    /// Refuses budgets of elastic filters that the one cache which pays for all has no room for.
    pub(crate) fn require_room(&self, inputs: &Inputs<'_>) -> Result<()> {
        let Inputs { records, configs, common, .. } = inputs;
        let charged =
            || configs.iter().filter(|config| config.elastic().is_some_and(|elastic| elastic.is_charged()));
        if let Some(cache) =
            common.block_cache.filter(|cache| cache.pays_for_all && cache.bytes < CACHE_BYTES_MIN)
        {
            return Err(bad_input(format!(
                "--memory-per-key: {} in all have no room for a block, expected at least {}",
                Size { bytes: cache.bytes },
                Size { bytes: CACHE_BYTES_MIN }
            )));
        }
        let Some(cache) = common.block_cache else {
            let rows = configs.iter().find(|config| config.tables.row_cache.is_some());
            return match charged().next().or(rows) {
                None => Ok(()),
                Some(config) => Err(bad_input(format!(
                    "{config} has a part of a block cache: give --block-cache or --memory-per-key"
                ))),
            };
        };
        let all_records = common.all(records.keys.records());
        let budget = |config: &Config| common.budget_bytes(config, all_records);
        let block_bytes = |config: &Config| cache.bytes - common.row_cache_bytes(config).unwrap_or(0);
        let is_too_large = |config: &&Config| {
            let elastic = config.elastic().filter(|elastic| cache.pays_for_all || elastic.is_charged());
            elastic.is_some_and(|elastic| elastic.bits.is_some()) && budget(config) > block_bytes(config) / 2
        };
        match configs.iter().find(is_too_large) {
            None => Ok(()),
            Some(config) => {
                let [budget, cache] = [budget(config), block_bytes(config)].map(|bytes| Size { bytes });
                Err(bad_input(format!(
                    "the budget of {config}, {budget}, is charged to a block cache of {cache}, half of which stays for blocks: give a \
                     larger one, or a smaller --budget"
                )))
            }
        }
    }

    pub(crate) fn configs(&self) -> Result<Vec<Config>> {
        let defaults = match self.preset {
            _ if self.load_only.is_some() => "bloom:10,elastic:4",
            Preset::Families => "none,ribbon:4,monkey-ribbon:4,elastic:4",
            _ => "none,bloom:4,bloom:10,ribbon:4,partitioned:10,monkey-bloom:4,monkey-ribbon:4,elastic:4",
        };
        let configs = match &self.configs {
            Some(configs) => configs.clone(),
            None => defaults.split(',').map(str::parse).collect::<Result<_, _>>().map_err(bad_input)?,
        };
        let names: Vec<String> = configs.iter().map(Config::to_string).collect();
        match repeated(&names) {
            Some(twice) => Err(bad_input(format!("--configs: {twice} is given twice"))),
            None => Ok(configs),
        }
    }

    /// What is loaded, and the workload of a trace.
    pub(crate) fn records(&self, defaults: &Defaults) -> Result<(Records, Option<Recorded>)> {
        let value_bytes = self.value_bytes.unwrap_or(defaults.value_bytes);
        let seed = self.seed;
        if let Some(path) = &self.trace {
            let (keys, recorded) = Recorded::read(path, self.keys.as_deref(), self.set.load_share)?;
            let of_trace = recorded
                .value_bytes
                .map(|bytes| bytes.clamp(*VALUE_BYTES.start(), *VALUE_BYTES.end()) as usize);
            let value_bytes = self.value_bytes.or(of_trace).unwrap_or(value_bytes);
            let keys = KeySpace::Trace(keys);
            return Ok((Records { keys, value_bytes, seed }, Some(recorded)));
        }
        let keys = match &self.keys {
            Some(path) => KeySpace::File(
                FileKeys::read(path, self.records).map_err(|error| bad_input(error.to_string()))?,
            ),
            None => {
                let records = self.records.unwrap_or(defaults.records);
                if self.distribution.is_some_and(|distribution| distribution.needs_key_order()) {
                    KeySpace::Ordered { records }
                } else if self.workload.seeks() {
                    KeySpace::Edges { records }
                } else {
                    KeySpace::Synthetic { records }
                }
            }
        };
        Ok((Records { keys, value_bytes, seed }, None))
    }

    /// Operations before the measurement, and measured ones.
    pub(crate) fn operations(&self, defaults: &Defaults, recorded: Option<&Recorded>) -> Result<(u64, u64)> {
        let Some(recorded) = recorded else {
            return Ok((self.warmup.unwrap_or(defaults.warmup_ops), self.ops.unwrap_or(defaults.ops)));
        };
        let there = recorded.replay.operations();
        let warmup = self.warmup.unwrap_or(there / 2);
        // In equal rounds, and as many for each thread.
        let least = u64::from(self.rounds.unwrap_or(defaults.rounds))
            * self.threads.iter().map(|&n| u64::from(n)).sum::<u64>();
        let ops = self.ops.unwrap_or(there.saturating_sub(warmup) / least * least);
        if warmup.saturating_add(ops) > there || ops < least {
            return Err(bad_input(format!(
                "{}: {there} operations are left behind those that fill the databases, but {warmup} for the warm-up and {} measured \
                 ones are needed: choose a smaller load_share (--set), --warmup or --ops, or record more",
                recorded.name,
                ops.max(least),
            )));
        }
        Ok((warmup, ops))
    }

    pub(crate) fn workload(&self, keys: &KeySpace, recorded: Option<&Recorded>) -> Result<Workload> {
        match recorded {
            Some(recorded) => Ok(Workload::Trace(recorded.replay.clone())),
            None => {
                let stream = self.stream(keys)?;
                Ok(Workload::Generated(stream, self.family_mix(stream.absent_share)?))
            }
        }
    }

    fn stream(&self, keys: &KeySpace) -> Result<StreamSettings> {
        let mix = self.workload;
        let distribution = self.distribution.unwrap_or_else(|| mix.default_distribution());
        let absent_share = self.absent_share.unwrap_or(if mix == Mix::GET { 0.5 } else { 0.0 });
        let settings = StreamSettings {
            mix,
            distribution,
            movement: self.set.movement,
            absent_share,
            absent: self.absent,
            hot_key_seed: 0,
            seed: self.seed,
            stream: 0,
            streams: 1,
        };
        // Tried here so that a bad number is reported before minutes of loading.
        OperationStream::new(settings, keys).map_err(|error| bad_input(error.to_string()))?;
        Ok(settings)
    }

    /// The block cache of stores with this many records in all.
    fn block_cache(&self, records: u64) -> Option<BlockCache> {
        let (bytes, pays_for_all) = match self.memory_per_key {
            Some(bytes) => ((bytes * records as f64) as u64, true),
            None => (self.block_cache?.bytes, false),
        };
        (bytes > 0).then_some(BlockCache { bytes, kind: self.set.cache_kind, pays_for_all })
    }

    /// `records`: of each family.
    pub(crate) fn common(&self, configs: &[Config], records: u64) -> CommonSettings {
        const DEFAULT_BUDGET_BITS: f64 = 4.0;
        let families = self.families();
        CommonSettings {
            tree: self.preset.shape(),
            families,
            family_databases: self.set.family_databases,
            buffered: self.set.buffered,
            block_cache: self.block_cache(records * u64::from(families)),
            prefixes: self.workload.seeks().then(|| Prefixes { whole_keys: self.workload.reads() }),
            tables_per_get: 1.0,
            budget_bytes: self.budget.map(|size| size.bytes),
            budget_bits: configs
                .iter()
                .find_map(|config| config.elastic()?.bits)
                .unwrap_or(DEFAULT_BUDGET_BITS),
        }
    }

    pub(crate) fn manifest(&self, records: &Records, common: &CommonSettings) -> TreeManifest {
        TreeManifest {
            format_version: FORMAT_VERSION,
            rocksdb: ROCKSDB_VERSION.to_owned(),
            keys: keys_identity(records),
            records: records.keys.records(),
            value_bytes: records.value_bytes,
            seed: records.seed,
            shape: common.tree,
            families: common.families,
            family_databases: common.family_databases,
        }
    }

    /// The header of a report on databases of `shape`; the caller adds what was run.
    pub(crate) fn header(&self, inputs: &Inputs<'_>, shape: &Shape) -> Result<Header> {
        let Inputs { clock, records, configs, common, .. } = inputs;
        let entries = shape.entries();
        Ok(Header {
            clock: *clock,
            rocksdb: ROCKSDB_VERSION,
            preset: self.preset,
            keys: [&self.trace, &self.keys].into_iter().find_map(Option::as_ref).map_or_else(
                || made_keys(&records.keys).unwrap_or_default().to_owned(),
                |path| format!("keys of {}", path.file_name().unwrap_or_default().display()),
            ),
            records: entries,
            key_bytes_mean: records.keys.key_bytes() as f64 / records.keys.records() as f64,
            value_bytes: records.value_bytes,
            seed: self.seed,
            direct_io: !self.set.buffered,
            block_cache: common.block_cache,
            families: common.families,
            family_databases: common.family_databases,
            budget_bytes: common.budget_bytes(&Config::NONE, entries),
            // The usual one where it is there.
            baseline: configs
                .iter()
                .map(Config::to_string)
                .reduce(|first, config| if config == BASELINE { config } else { first })
                .unwrap_or_default(),
            elastic: ElasticSettings::default().described(),
            own_settings: configs
                .iter()
                .filter_map(|config| common.own_settings(config, shape).transpose())
                .collect::<Result<_>>()?,
            levels: shape.levels.clone(),
            tree: shape.summary(),
            lookups: None,
            loads: None,
        })
    }
}

/// Identifies the keys that are loaded, and their order, in manifests: by content, and from what was read, as a pipe is read once.
fn keys_identity(records: &Records) -> String {
    if let Some(name) = made_keys(&records.keys) {
        // Nobody asked for an order, but for what needs it.
        let is_ordered = matches!(records.keys, KeySpace::Ordered { .. });
        let needed_for = if is_ordered { " (for --distribution ranges)" } else { "" };
        return format!("{name}{needed_for}");
    }
    let count = records.keys.records();
    let (order, mut hasher) = (records.keys.load_order(count, records.seed), blake3::Hasher::new());
    let mut key = Vec::new();
    for index in 0..count {
        records.keys.present(order(index), &mut key);
        hasher.update(&(key.len() as u64).to_le_bytes()).update(&key);
    }
    format!("keys of a file, {}", &hasher.finalize().to_hex()[..16])
}
