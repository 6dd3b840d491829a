//! Refuses flags that nothing in the run would use: whoever gives one expects it to change the figures.

use anyhow::Result;
use springbloom_workload::{FamilySettings, Mix};

use crate::arguments::Compare;
use crate::database::config::Config;
use crate::database::options::CommonSettings;
use crate::database::preset::Preset;

/// Flags of lookups.
const OF_LOOKUPS: [&str; 13] = [
    "--zero-result",
    "--workload",
    "--absent",
    "--ops",
    "--warmup",
    "--rounds",
    "--salts",
    "--threads",
    "--reuse",
    "--set movement",
    "--set window",
    "--set multi_get",
    "--set seek_ms",
];

/// Flags that one column family alone has.
const OF_ONE_FAMILY: [&str; 6] =
    ["--trace", "--load-only", "--load-rounds", "--set load_records", "--set movement", "--set multi_get"];

/// What `--preset shamba` varies itself.
const VARIED_BY_SHAMBA: [&str; 13] = [
    "--trace",
    "--set families",
    "--zero-result",
    "--distribution",
    "--budget",
    "--workload",
    "--salts",
    "--threads",
    "--absent",
    "--set movement",
    "--set window",
    "--set multi_get",
    "--set one_cache",
];

impl Compare {
    /// Refuses what the kind of the run leaves unused. See [`refuse_unused_settings`](Self::refuse_unused_settings) for the filters.
    pub(crate) fn refuse_unused_flags(&self) -> Result<()> {
        let is_shamba = self.preset == Preset::Shamba && !self.load_only;
        let of_trace: (bool, &[_], _) = (
            self.trace.is_none(),
            &["--set load_share"],
            "it is a part of a recorded workload, give it with --trace",
        );
        let families = self.layout().families;
        let unused = [
            (families == 1, &FamilySettings::OF_SEVERAL[..], FamilySettings::THERE_IS_ONE),
            (families == 1, &["--set family_databases"], FamilySettings::THERE_IS_ONE),
            (
                families > 1,
                &OF_ONE_FAMILY,
                "there are several column families, which are compared with lookups alone",
            ),
            (self.set.family.absent.is_some(), &["--zero-result"], FamilySettings::SAYS_ABSENT),
            (self.load_only, &OF_LOOKUPS[..], "--load-only measures no lookups"),
            (is_shamba, &VARIED_BY_SHAMBA, "--preset shamba sets it itself"),
            (
                self.block_cache.is_none(),
                &["--set cache_kind"],
                "there is no block cache: give --block-cache",
            ),
            of_trace,
            (
                !self.load_only && self.load_rounds.unwrap_or(0) == 0,
                &["--set load_records"],
                "no loads are measured: give --load-rounds",
            ),
        ];
        self.refuse_unused(&unused)
    }

    fn refuse_unused(&self, unused: &[(bool, &[&str], &str)]) -> Result<()> {
        self.given.refuse_unused(unused)?;
        self.set.given.refuse_unused(unused)
    }

    /// Refuses settings of filters that no configuration takes.
    pub(crate) fn refuse_unused_settings(&self, configs: &[Config], common: &CommonSettings) -> Result<()> {
        let is_capped = |config: &Config| {
            config.elastic().is_some() || (config.is_cached() && common.block_cache.is_none())
        };
        self.refuse_unused(&[(
            !configs.iter().any(is_capped),
            &["--budget"],
            "no configuration has elastic filters, or a cache for filters alone",
        )])
    }

    /// Refuses what the operations leave unused.
    pub(crate) fn refuse_unused_operations(&self, mix: Mix, zero_result_ratio: f64) -> Result<()> {
        self.refuse_unused(&[
            (
                !mix.reads(),
                &["--zero-result", "--absent", "--set multi_get", "--set window"],
                "no operation is a read, which is a lookup of one key",
            ),
            (zero_result_ratio == 0.0, &["--absent"], "no lookup asks for an absent key: give --zero-result"),
        ])
    }
}
