//! Refuses flags that nothing in the run would use: whoever gives one expects it to change the figures.

use anyhow::Result;
use springbloom_rocksdb::PolicyKind;
use springbloom_workload::Mix;

use crate::arguments::Compare;
use crate::database::config::Config;
use crate::database::elastic::Elastic;
use crate::database::options::CommonSettings;
use crate::database::preset::Preset;

/// Flags of lookups.
const OF_LOOKUPS: [&str; 16] = [
    "--zipf",
    "--zero-result",
    "--workload",
    "--mix",
    "--absent",
    "--movement",
    "--window",
    "--multi-get",
    "--ops",
    "--warmup",
    "--rounds",
    "--salts",
    "--threads",
    "--seek-ms",
    "--segments",
    "--reuse",
];

/// What `--preset shamba` varies itself.
const VARIED_BY_SHAMBA: [&str; 13] = [
    "--trace",
    "--zero-result",
    "--distribution",
    "--budget",
    "--workload",
    "--mix",
    "--salts",
    "--threads",
    "--absent",
    "--movement",
    "--window",
    "--multi-get",
    "--one-cache",
];

/// Flags of elastic filters, with the setting that a configuration may have in their place.
const OF_ELASTIC: [(&str, &str); 5] = [
    ("--policy", "policy"),
    ("--units", "units"),
    ("--segment-data-bytes", "segment_data_bytes"),
    ("--no-negative-cache", "negative_cache"),
    ("--no-inheritance", "inherit_hotness"),
];

impl Compare {
    /// Refuses what the kind of the run leaves unused. See [`refuse_unused_settings`](Self::refuse_unused_settings) for the filters.
    pub(crate) fn refuse_unused_flags(&self) -> Result<()> {
        let is_shamba = self.preset == Preset::Shamba && !self.load_only;
        // clap forgets that one requires the other where a third one conflicts with it.
        let of_trace: (bool, &[_], _) = (
            self.trace.is_none(),
            &["--load-share"],
            "it is a part of a recorded workload, give it with --trace",
        );
        let unused = [
            (self.load_only, &OF_LOOKUPS[..], "--load-only measures no lookups"),
            (is_shamba, &VARIED_BY_SHAMBA, "--preset shamba sets it itself"),
            (!is_shamba, &["--plot"], "it draws the figures of --preset shamba"),
            of_trace,
            (self.load_rounds == Some(0), &["--load-records"], "--load-rounds 0 measures no loads"),
        ];
        self.given.refuse_unused(&unused)
    }

    /// Refuses settings of filters that no configuration takes.
    pub(crate) fn refuse_unused_settings(&self, configs: &[Config], common: &CommonSettings) -> Result<()> {
        let elastic = || configs.iter().filter_map(Config::elastic);
        for (flag, setting) in OF_ELASTIC {
            let is_unused = elastic().all(|elastic| elastic.sets(setting));
            self.given.refuse_unused(&[(
                is_unused,
                &[flag],
                "no configuration takes it: add elastic:BITS to --configs",
            )])?;
        }
        let is_capped = |config: &Config| {
            config.elastic().is_some() || (config.is_cached() && common.block_cache.is_none())
        };
        let expires = |elastic: &Elastic| {
            let policy = elastic.builder(&common.elastic)?.settings().policy;
            Ok(policy == PolicyKind::MultiQueue
                && elastic.lifetime_gets(1).is_none()
                && !elastic.sets("segment_lifetime_visits"))
        };
        let expire: Vec<bool> = elastic().map(expires).collect::<Result<_>>()?;
        self.given.refuse_unused(&[
            (elastic().next().is_none(), &["--segments"], "no configuration is elastic"),
            (
                !configs.iter().any(is_capped),
                &["--budget"],
                "no configuration has elastic filters, or a cache for filters alone",
            ),
            (
                !expire.contains(&true),
                &["--segment-lifetime-visits"],
                "no configuration has the policy multi-queue without a lifetime of its own: give --policy multi-queue",
            ),
        ])
    }

    /// Refuses what the operations leave unused.
    pub(crate) fn refuse_unused_operations(&self, mix: Mix, zero_result_ratio: f64) -> Result<()> {
        self.given.refuse_unused(&[
            (
                !mix.reads(),
                &["--zero-result", "--absent", "--multi-get", "--window"],
                "no operation is a read, which is a lookup of one key",
            ),
            (zero_result_ratio == 0.0, &["--absent"], "no lookup asks for an absent key: give --zero-result"),
        ])
    }
}
