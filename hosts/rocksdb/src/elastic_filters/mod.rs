//! The handle that a program holds: settings, the manager, and how they come into a database's options.

pub(crate) mod settings;
pub(crate) mod shared_instance;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use springbloom_filter::UnitSettings;
use springbloom_manager::{Manager, ManagerSettings, MemoryCurve, PolicyKind, Stats};

use crate::{
    Error, MemoryPressure,
    control::{
        budget_control::{self, BudgetControl},
        maintenance::{Maintenance, Tasks},
    },
    ffi,
    tables::{
        databases::Databases, handover::Handover, refused::RefusedTables, table_files::TableFiles,
        table_filter::READER_BYTES,
    },
    warm_start::{self, WarmStart},
};

/// Smallest segment: below this a unit is a few bytes and bookkeeping outweighs it.
const SEGMENT_DATA_BYTES_MIN: u64 = 16 << 10;

/// What a thread that looks up keeps in C++ (`lookup_digest.cc`): a key of up to 1024 bytes, and 32 of a batch of up to 128 bytes, each
/// with its length and digest, and a count.
const THREAD_BYTES: usize = (1024 + 24) + 32 * (128 + 24) + 8;

/// What all tables that share one budget share.
pub(crate) struct Shared {
    /// First, so that it is stopped, and has written what is to be remembered, before the rest goes.
    _maintenance: Maintenance,
    pub(crate) manager: Arc<Manager>,
    pub(crate) units: UnitSettings,
    pub(crate) segment_data_bytes: u64,
    pub(crate) trust_comparators: bool,
    pub(crate) write_units: bool,
    pub(crate) handover: Arc<Handover>,
    pub(crate) databases: Arc<Databases>,
    pub(crate) files: Arc<TableFiles>,
    pub(crate) refused: Arc<RefusedTables>,
    /// `None`: nothing is remembered over a restart.
    pub(crate) warm_start: Option<Arc<WarmStart>>,
    pub(crate) budget: Arc<BudgetControl>,
    /// Tables without filter units that were opened.
    pub(crate) tables_without_units: AtomicU64,
    policy: PolicyKind,
    charges_block_cache: bool,
}

impl Shared {
    /// What is in force, for a log.
    pub(crate) fn settings_text(&self) -> String {
        format!(
            "budget {} bytes, policy {}, units {}, segments of {} bytes",
            self.manager.budget().budget_bytes(),
            self.policy,
            self.units,
            self.segment_data_bytes
        ) + if self.write_units { "" } else { ", for reading alone: new tables get stock filters" }
    }
}

/// Elastic filters under one memory budget, for any number of databases and column families of the process.
///
/// Cheap to clone; clones share the budget. Databases that it was installed into keep it alive.
#[derive(Clone)]
pub struct ElasticFilters {
    pub(crate) shared: Arc<Shared>,
}

impl ElasticFilters {
    /// Starts from the defaults: 64 MiB, segments of about 8 MiB of data, 16 ribbon units of a bit per key.
    pub fn builder() -> ElasticFiltersBuilder {
        ElasticFiltersBuilder::default()
    }

    /// Makes column families opened with these options write and use filter units.
    ///
    /// Call it after the block-based options are set (`set_block_based_table_factory`), which are kept; their filter policy
    /// goes on serving tables that stock RocksDB wrote. Also makes the id `springbloom` known to option strings.
    ///
    /// Errors when the options use a table format other than block-based. Whether it took effect tells [`status`](Self::status): what sets
    /// the options' table factory after this (`set_block_based_table_factory`, `optimize_for_point_lookup`) undoes it. Another `ElasticFilters`
    /// that was installed into these options before is replaced, and the log says so.
    pub fn install(&self, options: &mut rocksdb::Options) -> Result<(), Error> {
        if self.shared.charges_block_cache {
            let charge = || ffi::CacheCharge::of(&ffi::BlockCache::in_options(options));
            self.shared.budget.charge_to(charge).map_err(Error::Install)?;
        }
        if ffi::is_another_installed(options, &self.shared) {
            log::warn!(
                "these options had another ElasticFilters installed: it is replaced, and its budget has no effect on them"
            );
        }
        ffi::install(options, &self.shared).map_err(Error::Install)
    }

    /// Whether the default column family of a database uses this `ElasticFilters`, and how many of its tables have filter units. Reads the
    /// tables' properties.
    pub fn status(&self, db: &rocksdb::DB) -> Result<FamilyStatus, Error> {
        ffi::status(db, None, &self.shared).map_err(Error::Status)
    }

    /// [`status`](Self::status) of another column family.
    pub fn status_cf(
        &self,
        db: &rocksdb::DB,
        family: &impl rocksdb::AsColumnFamilyRef,
    ) -> Result<FamilyStatus, Error> {
        ffi::status(db, Some(family.inner()), &self.shared).map_err(Error::Status)
    }

    /// Tables without filter units that were opened so far: written by stock RocksDB, or given no filter.
    pub fn tables_without_units(&self) -> u64 {
        self.shared.tables_without_units.load(Ordering::Relaxed)
    }

    /// Changes the budget and gives the one that is in force then. A smaller one holds when this returns: units are evicted first. More
    /// than asked for is in force where the bookkeeping of open tables takes more, less under memory pressure or where the block cache
    /// that pays has no more.
    ///
    /// Errors on more than 256 TiB.
    pub fn set_budget_bytes(&self, budget_bytes: u64) -> Result<u64, Error> {
        Ok(self.shared.budget.ask(budget_control::checked(budget_bytes)?) as u64)
    }

    /// A snapshot of what is resident and what it did.
    pub fn stats(&self) -> Stats {
        self.shared.manager.stats()
    }

    /// Wasted reads to expect at any budget, from what was measured. O(segments).
    pub fn memory_curve(&self) -> MemoryCurve {
        self.shared.manager.memory_curve()
    }

    /// Visits to segments of tables that a lookup makes on average, to turn figures per visit into figures per lookup. `None` before
    /// the first lookup. Lookups are counted for the whole process: with several `ElasticFilters`s it is too low.
    pub fn visits_per_lookup(&self) -> Option<f64> {
        warm_start::visits_per_lookup(&self.shared.manager)
    }

    /// Waits until no unit is waiting to be loaded, at most `timeout`; whether that came true. For tests and benchmarks.
    pub fn wait_idle(&self, timeout: Duration) -> bool {
        self.shared.manager.wait_idle(timeout)
    }
}

/// What a column family does with filter units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FamilyStatus {
    /// Whether the tables that it writes from now on get units (unless [`write_units`](ElasticFiltersBuilder::write_units) is off), and those
    /// that have them are read with them.
    pub is_active: bool,
    /// Tables that have units.
    pub tables_with_units: u64,
    /// Tables that have none: written by stock RocksDB, or given no filter. A compaction writes them anew.
    pub tables_without_units: u64,
}

/// Collects the settings of an [`ElasticFilters`].
#[derive(Clone, Debug)]
pub struct ElasticFiltersBuilder {
    pub(crate) budget_bytes: u64,
    pub(crate) segment_data_bytes: u64,
    pub(crate) units: UnitSettings,
    pub(crate) policy: PolicyKind,
    pub(crate) lifetime: Option<u64>,
    pub(crate) trust_comparators: bool,
    pub(crate) write_units: bool,
    pub(crate) warm_start_every: Option<Duration>,
    pub(crate) memory_pressure: Option<MemoryPressure>,
    pub(crate) charge_to_block_cache: bool,
    pub(crate) negative_cache: bool,
}

impl Default for ElasticFiltersBuilder {
    fn default() -> Self {
        Self {
            budget_bytes: 64 << 20,
            segment_data_bytes: 8 << 20,
            units: UnitSettings::default(),
            policy: PolicyKind::default(),
            lifetime: None,
            trust_comparators: false,
            write_units: true,
            warm_start_every: Some(Duration::from_secs(60)),
            memory_pressure: None,
            charge_to_block_cache: false,
            negative_cache: true,
        }
    }
}

impl ElasticFiltersBuilder {
    /// Memory for filter units and all their bookkeeping, in bytes, 256 TiB at most. 0 turns filters off, and loses nothing on disk.
    /// Nothing is taken before it is used.
    pub fn budget_bytes(mut self, budget_bytes: u64) -> Self {
        self.budget_bytes = budget_bytes;
        self
    }

    /// Key and value bytes that one group of units covers, at least 16 KiB. Smaller segments follow hot ranges more
    /// closely and cost more bookkeeping; a unit near one page of the device loads at the best price.
    pub fn segment_data_bytes(mut self, segment_data_bytes: u64) -> Self {
        self.segment_data_bytes = segment_data_bytes;
        self
    }

    /// Kind, number and size of the units that new tables get.
    pub fn units(mut self, units: UnitSettings) -> Self {
        self.units = units;
        self
    }

    /// Who decides which units are resident.
    pub fn policy(mut self, policy: PolicyKind) -> Self {
        self.policy = policy;
        self
    }

    /// Lookups after which a segment that was not asked for counts as expired (multi-queue). Default: the number of
    /// segments, as the paper advises.
    pub fn lifetime(mut self, lookups: u64) -> Self {
        self.lifetime = Some(lookups);
        self
    }

    /// Promises that keys which a custom comparator calls equal are equal byte for byte.
    ///
    /// A filter knows bytes, not comparators: without the promise, column families whose comparator does not make it itself
    /// (`CanKeysWithDifferentByteContentsBeEqual`) get no units, unless they had a stock filter policy, which needs the
    /// same promise.
    pub fn trust_comparators(mut self, trust: bool) -> Self {
        self.trust_comparators = trust;
        self
    }

    /// Whether new tables get filter units. Default: yes. `false` is the way back to stock RocksDB without a gap: new tables get the
    /// filter of the options' own filter policy, as stock RocksDB writes them, while the units of those that have them go on filtering.
    pub fn write_units(mut self, write: bool) -> Self {
        self.write_units = write;
        self
    }

    /// How often the use of tables is written to a file in their database's folder, from which the
    /// database starts warm; it is also written when a database closes. Default: every minute. `None`: neither written nor read.
    pub fn warm_start_every(mut self, interval: Option<Duration>) -> Self {
        self.warm_start_every = interval;
        self
    }

    /// Shrinks the budget by steps while there is memory pressure, and takes it back slowly when there is none.
    pub fn yield_to_memory_pressure(mut self, pressure: MemoryPressure) -> Self {
        self.memory_pressure = Some(pressure);
        self
    }

    /// Charges the budget to the block cache of the first options that this is [installed](ElasticFilters::install) into, so that filters and
    /// blocks together stay under the cache's capacity. The charge follows the budget; a cache with a strict limit bounds it.
    pub fn charge_to_block_cache(mut self, charge: bool) -> Self {
        self.charge_to_block_cache = charge;
        self
    }

    /// Whether part of the budget (a thirty-second at first, then as much as pays) remembers absent keys that the units let pass, so that
    /// a hot one wastes one read and not one per lookup. Default: yes. Keys of more than 112 bytes behind what all keys of their table begin with, and column families with
    /// user-defined timestamps, are not remembered.
    pub fn negative_cache(mut self, remember: bool) -> Self {
        self.negative_cache = remember;
        self
    }

    /// Starts the manager. Errors on a setting that cannot work.
    pub fn build(self) -> Result<ElasticFilters, Error> {
        if self.segment_data_bytes < SEGMENT_DATA_BYTES_MIN {
            return Err(Error::Setting {
                name: "segment_data_bytes",
                got: self.segment_data_bytes.to_string(),
                expected: format!("at least {SEGMENT_DATA_BYTES_MIN}"),
            });
        }
        let manager = Manager::new(ManagerSettings {
            budget_bytes: budget_control::checked(self.budget_bytes)?,
            policy: self.policy,
            lifetime: self.lifetime,
            negative_cache: self.negative_cache,
            reader_bytes: READER_BYTES,
            thread_bytes: THREAD_BYTES,
            ..ManagerSettings::default()
        });
        let (handover, files) = (Arc::new(Handover::default()), Arc::new(TableFiles::new(manager.clone())));
        let (refused, databases) = (Arc::new(RefusedTables::default()), Arc::new(Databases::default()));
        let warm_start =
            self.warm_start_every.map(|_| Arc::new(WarmStart::new(manager.clone(), files.clone())));
        let budget = BudgetControl::new(manager.clone(), handover.clone(), self.memory_pressure);
        let budget = Arc::new(budget);
        let maintenance = Maintenance::start(Tasks {
            manager: manager.clone(),
            files: files.clone(),
            databases: databases.clone(),
            warm_start: warm_start.clone().zip(self.warm_start_every),
            budget: budget.clone(),
            handover: handover.clone(),
            refused: refused.clone(),
        });
        Ok(ElasticFilters {
            shared: Arc::new(Shared {
                _maintenance: maintenance,
                manager,
                units: self.units,
                segment_data_bytes: self.segment_data_bytes,
                trust_comparators: self.trust_comparators,
                write_units: self.write_units,
                handover,
                databases,
                files,
                refused,
                warm_start,
                budget,
                tables_without_units: AtomicU64::new(0),
                policy: self.policy,
                charges_block_cache: self.charge_to_block_cache,
            }),
        })
    }
}
