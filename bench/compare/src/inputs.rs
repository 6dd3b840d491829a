//! From flags to records, operations, filters and the header of the report.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use springbloom_console::bad_input;
use springbloom_console::picture;
use springbloom_records::Clock;
use springbloom_rocksdb::ElasticFilters;
use springbloom_workload::{
    AbsentKeys, Distribution, FileKeys, KeySpace, Mix, Movement, OperationStream, StreamSettings, value,
};

use crate::arguments::Compare;
use crate::database::ROCKSDB_VERSION;
use crate::database::block_cache::BlockCache;
use crate::database::config::Config;
use crate::database::elastic::described;
use crate::database::load::Records;
use crate::database::manifest::{FORMAT_VERSION, TreeManifest};
use crate::database::options::CommonSettings;
use crate::database::preset::{Defaults, Preset};
use crate::database::shape::Shape;
use crate::report::Header;

/// Name of keys that are computed from record numbers.
const SYNTHETIC: &str = "synthetic";

/// The inputs of a comparison.
pub(crate) struct Inputs<'a> {
    pub(crate) clock: Clock,
    /// Folder for the databases.
    pub(crate) dir: &'a Path,
    pub(crate) records: Records,
    pub(crate) configs: Vec<Config>,
    pub(crate) common: CommonSettings,
    pub(crate) defaults: Defaults,
}

impl Compare {
    /// Refuses flags that contradict each other.
    pub(crate) fn require_sense(&self) -> Result<()> {
        if self.load_only && self.load_rounds == Some(0) {
            return Err(bad_input("--load-only needs --load-rounds of at least 1"));
        }
        if self.preset == Preset::Shamba && !self.load_only {
            let varied = [
                ("--zero-result", self.zero_result.is_some()),
                ("--distribution", self.distribution.is_some()),
                ("--budget", self.budget.is_some()),
                ("--workload", self.workload != Mix::GET),
                ("--mix", self.mix.is_some()),
                ("--salts", self.salts.is_some_and(|salts| salts > 1)),
                ("--threads", self.threads.len() > 1),
                ("--absent", self.absent != AbsentKeys::Popular),
                ("--movement", self.movement != Movement::Still),
                ("--window", self.window.is_some()),
                ("--one-cache", self.one_cache),
            ];
            if let Some((flag, _)) = varied.iter().find(|(_, given)| *given) {
                return Err(bad_input(format!("--preset shamba sets {flag} itself: remove it")));
            }
        } else if self.plot.is_some() {
            return Err(bad_input("--plot needs --preset shamba"));
        }
        if self.one_cache && self.block_cache.is_some_and(|size| size.bytes == 0) {
            return Err(bad_input("--one-cache needs a --block-cache of more than 0 bytes"));
        }
        self.plot.as_ref().map_or(Ok(()), |path| picture::require_picture_name(path))
    }

    /// Refuses jumps of the hot set within a window: recovery is counted in windows.
    pub(crate) fn require_whole_windows(&self, warmup_ops: u64) -> Result<()> {
        let Some((window, period)) = self.window.zip(self.movement.jump_period_ops()) else { return Ok(()) };
        if period.is_multiple_of(window) && warmup_ops.is_multiple_of(window) {
            return Ok(());
        }
        Err(bad_input(format!(
            "--window {window}: a jump must fall between two windows, so the period of --movement ({period}) and --warmup \
             ({warmup_ops}) must be multiples of the window"
        )))
    }

    pub(crate) fn configs(&self) -> Result<Vec<Config>> {
        let defaults = match self.preset {
            _ if self.load_only => "bloom:10,elastic:4",
            Preset::Shamba => {
                "bloom:10,bloom:10@cache,mbf:10,mbf:10@thresholds=0/0,partitioned:10,elastic:10"
            }
            _ => "none,bloom:4,bloom:10,ribbon:4,partitioned:10,monkey-bloom:4,monkey-ribbon:4,elastic:4",
        };
        let configs = match &self.configs {
            Some(configs) => configs.clone(),
            None => defaults.split(',').map(str::parse).collect::<Result<_, _>>().map_err(bad_input)?,
        };
        let mut names: Vec<String> = configs.iter().map(Config::to_string).collect();
        names.sort();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(twice) => Err(bad_input(format!("--configs: {} is given twice", twice[0]))),
            None => Ok(configs),
        }
    }

    pub(crate) fn records(&self, defaults: &Defaults) -> Result<Records> {
        const MAX_VALUE_BYTES: usize = 1 << 24;
        let value_bytes = self.value_bytes.unwrap_or(defaults.value_bytes);
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
            None => KeySpace::Synthetic { records: self.records.unwrap_or(defaults.records) },
        };
        Ok(Records { keys, value_bytes, seed: self.seed })
    }

    pub(crate) fn stream(&self, keys: &KeySpace) -> Result<StreamSettings> {
        let mix = self.mix.unwrap_or(self.workload);
        let distribution = match (self.distribution, self.zipf) {
            (Some(distribution), _) => distribution,
            (None, Some(exponent)) => Distribution::Zipf { exponent },
            (None, None) => mix.default_distribution(),
        };
        let zero_result_ratio = self.zero_result.unwrap_or(if mix == Mix::GET { 0.5 } else { 0.0 });
        let settings = StreamSettings {
            mix,
            distribution,
            movement: self.movement,
            zero_result_ratio,
            absent: self.absent,
            salt: 0,
            seed: self.seed,
            stream: 0,
            streams: 1,
        };
        // Tried here so that a bad number is reported before minutes of loading.
        OperationStream::new(settings, keys).map_err(|error| bad_input(error.to_string()))?;
        Ok(settings)
    }

    pub(crate) fn common(&self, configs: &[Config]) -> Result<CommonSettings> {
        const DEFAULT_BUDGET_BITS: f64 = 4.0;
        let mut elastic = ElasticFilters::builder()
            .policy(self.policy)
            .units(self.units)
            .segment_data_bytes(self.segment_data_bytes.bytes)
            .negative_cache(!self.no_negative_cache);
        if let Some(visits) = self.segment_lifetime_visits {
            elastic = elastic.segment_lifetime_visits(visits);
        }
        // Tried here so that a bad setting is reported before minutes of loading.
        elastic.clone().build().map_err(|error| {
            bad_input(format!("--segment-data-bytes {}: {error}", self.segment_data_bytes))
        })?;
        Ok(CommonSettings {
            tree: self.preset.shape(),
            buffered: self.buffered,
            // Only lookups that are measured are slow.
            seek: None,
            wal: self.wal,
            block_cache: self.block_cache.filter(|size| size.bytes > 0).map(|size| BlockCache {
                bytes: size.bytes,
                kind: self.cache_kind,
                pays_for_all: self.one_cache,
            }),
            elastic,
            tables_per_get: 1.0,
            budget_bytes: self.budget.map(|size| size.bytes),
            budget_bits: configs
                .iter()
                .find_map(|config| config.elastic())
                .map_or(DEFAULT_BUDGET_BITS, |elastic| elastic.bits),
        })
    }

    /// Identifies the keys in manifests.
    fn keys_identity(&self) -> Result<String> {
        match &self.keys {
            None => Ok(SYNTHETIC.to_owned()),
            Some(path) => {
                // By content: the same file at another place holds the same keys.
                let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
                Ok(format!("keys of file {}", &blake3::hash(&bytes).to_hex()[..16]))
            }
        }
    }

    pub(crate) fn manifest(&self, records: &Records, common: &CommonSettings) -> Result<TreeManifest> {
        Ok(TreeManifest {
            format_version: FORMAT_VERSION,
            rocksdb: ROCKSDB_VERSION.to_owned(),
            keys: self.keys_identity()?,
            records: records.keys.records(),
            value_bytes: records.value_bytes,
            seed: records.seed,
            shape: common.tree,
        })
    }

    /// The header of a report on databases of `shape`; the caller adds what was run.
    pub(crate) fn header(&self, inputs: &Inputs<'_>, shape: &Shape) -> Result<Header> {
        let Inputs { clock, records, configs, common, .. } = inputs;
        let entries = shape.entries();
        Ok(Header {
            clock: *clock,
            rocksdb: ROCKSDB_VERSION,
            preset: self.preset,
            keys: self.keys.as_ref().map_or_else(
                || SYNTHETIC.to_owned(),
                |path| format!("keys of {}", path.file_name().unwrap_or_default().display()),
            ),
            records: entries,
            key_bytes_mean: records.keys.key_bytes() as f64 / records.keys.records() as f64,
            value_bytes: records.value_bytes,
            seed: self.seed,
            direct_io: !self.buffered,
            wal: self.wal,
            seek_ms: self.seek_ms,
            block_cache: common.block_cache,
            budget_bytes: common.budget_bytes(&Config::None, entries),
            elastic: described(&common.elastic),
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
