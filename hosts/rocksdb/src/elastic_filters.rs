//! The handle of Rust programs: its builder, and installing it into a database's options.

use std::{sync::Arc, time::Duration};

use springbloom_filter::UnitSettings;
use springbloom_host_core::{Budget, FamilyStats, Filters, Settings, metrics};
use springbloom_manager::{MemoryCurve, Policy, Stats};

use crate::{
    Error,
    ffi::{self, FamilyStatus},
};

/// Elastic filters under one memory budget, for any number of databases and column families of the process.
///
/// Cheap to clone; clones share the budget. Databases that it was installed into keep it alive.
#[derive(Clone)]
pub struct ElasticFilters {
    pub(crate) filters: Arc<Filters>,
}

impl ElasticFilters {
    /// Starts from the defaults: a [budget](ElasticFiltersBuilder::budget_auto) that is a part of the block cache, segments of about 8 MiB
    /// of data, 16 ribbon units of a bit per key.
    pub fn builder() -> ElasticFiltersBuilder {
        ElasticFiltersBuilder::default()
    }

    /// Makes column families opened with these options write and use filter units.
    ///
    /// Call it after the block-based options are set (`set_block_based_table_factory`), which are kept; their filter policy still serves
    /// tables that stock RocksDB wrote. Also makes the id `springbloom` known to option strings.
    ///
    /// Errors when the options use a table format other than block-based. A later call that sets the options' table factory
    /// (`set_block_based_table_factory`, `optimize_for_point_lookup`) undoes it, which [`status`](Self::status) shows. Another
    /// `ElasticFilters` that was installed into these options before is replaced, and the log says so.
    pub fn install(&self, options: &mut rocksdb::Options) -> Result<(), Error> {
        if ffi::is_another_installed(options, &self.filters) {
            log::warn!(
                "these options had another ElasticFilters installed: it is replaced, and its budget has no effect on them"
            );
        }
        ffi::install(options, &self.filters).map_err(Error::Install)
    }

    /// Whether the default column family of a database uses this `ElasticFilters`, and how many of its tables have filter units. Reads the
    /// tables' properties.
    pub fn status(&self, db: &rocksdb::DB) -> Result<FamilyStatus, Error> {
        ffi::status(db, None, &self.filters).map_err(Error::Status)
    }

    /// [`status`](Self::status) of another column family.
    pub fn status_cf(
        &self,
        db: &rocksdb::DB,
        family: &impl rocksdb::AsColumnFamilyRef,
    ) -> Result<FamilyStatus, Error> {
        ffi::status(db, Some(family.inner()), &self.filters).map_err(Error::Status)
    }

    /// Tables without filter units that were opened so far: written by stock RocksDB, or given no filter.
    pub fn tables_without_units(&self) -> u64 {
        self.filters.tables_without_units()
    }

    /// Changes the budget and returns the one in force. A smaller one holds when this returns: units are evicted first. The budget in force
    /// is more than asked for if the bookkeeping of open tables takes more. It is less if the block cache that it is charged to has no
    /// room. This ends [measuring](ElasticFiltersBuilder::budget_auto).
    ///
    /// Errors on more than 256 TiB.
    pub fn set_budget_bytes(&self, budget_bytes: u64) -> Result<u64, Error> {
        self.filters.set_budget_bytes(budget_bytes)
    }

    /// A snapshot of all counters.
    pub fn stats(&self) -> Stats {
        self.filters.stats()
    }

    /// The same for each column family with an open table that has units, in the order of their names.
    pub fn families(&self) -> Vec<FamilyStats> {
        self.filters.families()
    }

    /// Wasted reads to expect at any budget, from what was measured. O(segments).
    pub fn memory_curve(&self) -> MemoryCurve {
        self.filters.memory_curve()
    }

    /// Visits to segments that a lookup makes on average: turns figures per visit into figures per lookup. `None` before the first lookup.
    /// Over all databases with these filters.
    pub fn visits_per_lookup(&self) -> Option<f64> {
        self.filters.visits_per_lookup()
    }

    /// Waits until no unit is waiting to be loaded. `false` if `timeout` passed first. For tests and benchmarks.
    pub fn wait_idle(&self, timeout: Duration) -> bool {
        self.filters.wait_idle(timeout)
    }

    /// The `Content-Type` with which a program serves [`metrics_text`](Self::metrics_text).
    pub const METRICS_CONTENT_TYPE: &str = metrics::CONTENT_TYPE;

    /// [`stats`](Self::stats) and [`families`](Self::families) in the text format that Prometheus scrapes, OpenMetrics.
    pub fn metrics_text(&self) -> String {
        self.filters.metrics_text()
    }
}

/// Collects the settings of an [`ElasticFilters`].
#[derive(Clone, Debug, Default)]
pub struct ElasticFiltersBuilder {
    settings: Settings,
}

impl ElasticFiltersBuilder {
    /// Memory for filter units and all their bookkeeping, in bytes, 256 TiB at most. 0 turns filters off; the units on disk stay. Memory is
    /// taken only as it is used.
    pub fn budget_bytes(mut self, budget_bytes: u64) -> Self {
        self.settings.budget = Budget::Bytes(budget_bytes);
        self
    }

    /// Chooses the budget by measuring: the part of the block cache, up to seven eighths, with which lookups read the fewest blocks. The
    /// cache pays for it. It follows the workload, the data, and a cache that is resized. Options without a block cache get 64 MiB of
    /// separate memory. This is the default.
    pub fn budget_auto(mut self) -> Self {
        self.settings.budget = Budget::Auto;
        self
    }

    /// Key and value bytes that one group of units covers, from 16 KiB to 1 TiB. Where values are large, a group covers more: at least one
    /// key for each 2 KiB. Smaller segments follow hot ranges more closely and cost more bookkeeping. A unit of about one page of the
    /// device is cheapest to load.
    pub fn segment_size(mut self, segment_size: u64) -> Self {
        self.settings.segment_size = segment_size;
        self
    }

    /// Kind, number and size of the units that new tables get.
    pub fn units(mut self, units: UnitSettings) -> Self {
        self.settings.units = units;
        self
    }

    /// Promises that keys which a custom comparator calls equal are equal byte for byte.
    ///
    /// A filter knows bytes, not comparators: without the promise, column families whose comparator does not make it itself
    /// (`CanKeysWithDifferentByteContentsBeEqual`) get no units, unless they had a stock filter policy, which needs the
    /// same promise.
    pub fn assume_bytewise_equality(mut self, assume: bool) -> Self {
        self.settings.assume_bytewise_equality = assume;
        self
    }

    /// Whether new tables get filter units. Default: yes. With `false`, new tables get the filter of the options' own filter policy, and
    /// tables with units are still filtered by them: so a change back to stock RocksDB leaves no gap.
    pub fn create_filters(mut self, create: bool) -> Self {
        self.settings.create_filters = create;
        self
    }

    /// How often the use of tables is saved for a warm start, in a file in the database's folder. It is also saved when a database closes.
    /// Default: every minute; at most once a millisecond. `None`: neither saved nor read.
    pub fn warm_start_every(mut self, interval: Option<Duration>) -> Self {
        self.settings.warm_start_every = interval;
        self
    }

    /// Charges a budget in bytes (as the default budget is) to the block caches of the options that this is
    /// [installed](ElasticFilters::install) into and of the databases opened with them, so that filters and blocks together stay under the
    /// caches' capacity. A budget in bytes takes at most half of them. It gives way to what is pinned there: memtables, index blocks,
    /// iterators.
    pub fn charge_to_block_cache(mut self, charge: bool) -> Self {
        self.settings.charge_to_block_cache = charge;
        self
    }

    /// Whether new tables get an index that needs little memory, where the block cache pays for the budget:
    /// `index_block_restart_interval=16`. Default: yes. Another value that the options have stays. Existing tables keep their index until a
    /// compaction rewrites them.
    pub fn small_index(mut self, small: bool) -> Self {
        self.settings.small_index = small;
        self
    }

    /// Whether a new table, such as the output of a compaction, starts with the hotness of the segments whose keys it holds. Default: yes.
    /// `false` is for measuring the effect.
    pub fn inherit_hotness(mut self, inherit: bool) -> Self {
        self.settings.inherit_hotness = inherit;
        self
    }

    /// Share of the keys rejected by units, from 0 to 1, that are looked up in the table all the same. Default: 0. A key that is found is
    /// returned; the LOG has the first ones, and the metric `springbloom_rejections_wrong_total` counts them. Each verified key costs what
    /// the filter would have saved.
    pub fn verify_share(mut self, share: f64) -> Self {
        self.settings.verify_share = share;
        self
    }

    /// Sets a setting by its name in [`SETTINGS`](crate::SETTINGS), as option strings do.
    ///
    /// Errors on an unknown name, and on a value that the setting does not take.
    pub fn set(self, name: &str, value: &str) -> Result<Self, Error> {
        Ok(Self { settings: self.settings.with(&[(name, value)])? })
    }

    /// The settings so far.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Starts the manager. Errors on a setting that cannot work.
    pub fn build(self) -> Result<ElasticFilters, Error> {
        Ok(ElasticFilters { filters: Filters::start(self.settings, ffi::engine())? })
    }

    /// As [`build`](Self::build), with another policy than Springbloom's: for experiments.
    #[doc(hidden)]
    pub fn build_with(self, policy: Box<dyn Policy>) -> Result<ElasticFilters, Error> {
        Ok(ElasticFilters { filters: Filters::start_with(self.settings, ffi::engine(), policy)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_builder_sets_what_option_strings_set() {
        let built = ElasticFilters::builder()
            .budget_bytes(3 << 20)
            .segment_size(64 << 10)
            .units("bloom:6x4".parse().expect("units"))
            .warm_start_every(None)
            .inherit_hotness(false)
            .assume_bytewise_equality(true)
            .create_filters(false)
            .charge_to_block_cache(true)
            .small_index(false)
            .verify_share(0.5);
        let given = Settings::default().with(&[
            ("budget", "3M"),
            ("segment_size", "64K"),
            ("units", "bloom:6x4"),
            ("warm_start_seconds", "0"),
            ("inherit_hotness", "false"),
            ("assume_bytewise_equality", "true"),
            ("create_filters", "false"),
            ("charge_to_block_cache", "true"),
            ("small_index", "false"),
            ("verify_share", "0.5"),
        ]);
        assert_eq!(format!("{:?}", built.settings), format!("{:?}", given.expect("settings")));
    }

    #[test]
    fn settings_are_set_by_name() {
        let set = ElasticFilters::builder().set("units", "bloom:6x4").expect("known");
        assert_eq!(set.settings().units.to_string(), "bloom:6x4");
        for (name, value, message) in [
            ("unit", "bloom:6x4", "unit: unknown setting"),
            ("units", "guess", "units: got guess, expected ribbon"),
        ] {
            let error = ElasticFilters::builder().set(name, value).expect_err(name).to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
