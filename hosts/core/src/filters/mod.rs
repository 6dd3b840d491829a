//! The filters of all tables that share one budget: settings, manager and maintenance.

pub(crate) mod families;
pub(crate) mod setting_table;
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
use springbloom_manager::{Manager, ManagerSettings, MemoryCurve, PolicyKind, Stats, allocated_bytes};

use self::{families::FamilyStats, settings::Settings};
use crate::{
    Cache, Engine, Error, MemoryPressure,
    control::{
        budget_control::BudgetControl,
        maintenance::{Maintenance, Tasks},
        metrics::{self, Figures},
    },
    tables::{
        builder_memory::BuilderMemory, databases::Databases, deferred::DeferredTables, handover::Handover,
        table_files::TableFiles,
    },
    warm_start::{self, WarmStart},
};

/// Elastic filters under one memory budget.
pub struct Filters {
    /// The first field, because fields are dropped in order: it is stopped and has saved hotness before the rest goes.
    _maintenance: Maintenance,
    pub(crate) engine: &'static Engine,
    pub(crate) manager: Arc<Manager>,
    pub(crate) units: UnitSettings,
    pub(crate) segment_data_bytes: u64,
    pub(crate) assume_bytewise_equality: bool,
    pub(crate) write_units: bool,
    pub(crate) handover: Arc<Handover>,
    pub(crate) databases: Arc<Databases>,
    pub(crate) files: Arc<TableFiles>,
    pub(crate) deferred: Arc<DeferredTables>,
    /// `None`: no warm starts.
    pub(crate) warm_start: Option<Arc<WarmStart>>,
    pub(crate) tables_without_units: AtomicU64,
    pub(crate) tables_written_without_units: AtomicU64,
    pub(crate) builder_memory: BuilderMemory,
    maintenance_panics: Arc<AtomicU64>,
    budget: Arc<BudgetControl>,
    policy: PolicyKind,
    charges_cache: bool,
}

impl Filters {
    pub(crate) fn start(settings: Settings, engine: &'static Engine) -> Result<Arc<Self>, Error> {
        setting_table::check(&settings)?;
        settings.memory_pressure.iter().try_for_each(MemoryPressure::check)?;
        let manager = Manager::new(ManagerSettings {
            budget_bytes: settings.budget_bytes as usize,
            policy: settings.policy,
            segment_lifetime_visits: settings.segment_lifetime_visits,
            negative_cache: settings.negative_cache,
            inherit_hotness: settings.inherit_hotness,
            reader_bytes: allocated_bytes(engine.reader_bytes),
            ..ManagerSettings::default()
        });
        let (handover, files) = (Arc::new(Handover::default()), Arc::new(TableFiles::new(manager.clone())));
        let (deferred, databases) = (Arc::new(DeferredTables::default()), Arc::new(Databases::default()));
        let warm_start = settings
            .warm_start_every
            .map(|_| Arc::new(WarmStart::new(engine, manager.clone(), files.clone())));
        let budget = BudgetControl::new(manager.clone(), handover.clone(), settings.memory_pressure);
        let budget = Arc::new(budget);
        let maintenance_panics = Arc::new(AtomicU64::new(0));
        let maintenance = Maintenance::start(Tasks {
            manager: manager.clone(),
            files: files.clone(),
            databases: databases.clone(),
            warm_start: warm_start.clone().zip(settings.warm_start_every),
            budget: budget.clone(),
            handover: handover.clone(),
            deferred: deferred.clone(),
            panics: maintenance_panics.clone(),
        });
        Ok(Arc::new(Self {
            _maintenance: maintenance,
            engine,
            manager,
            units: settings.units,
            segment_data_bytes: settings.segment_data_bytes,
            assume_bytewise_equality: settings.assume_bytewise_equality,
            write_units: settings.write_units,
            handover,
            databases,
            files,
            deferred,
            warm_start,
            tables_without_units: AtomicU64::new(0),
            tables_written_without_units: AtomicU64::new(0),
            builder_memory: BuilderMemory::default(),
            maintenance_panics,
            budget,
            policy: settings.policy,
            charges_cache: settings.charge_to_block_cache,
        }))
    }

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

    /// Charges the budget to the cache if the settings ask for it and no cache pays yet. Errors with a message if there is none.
    pub fn charge_to(&self, cache: &Cache<'_>) -> Result<(), String> {
        if !self.charges_cache {
            return Ok(());
        }
        self.budget.charge_to(self.engine, cache)
    }

    /// Changes the budget and gives the one that is in force then. A smaller one holds when this returns: units are evicted first.
    pub fn set_budget_bytes(&self, budget_bytes: u64) -> Result<u64, Error> {
        setting_table::check(&Settings { budget_bytes, ..Settings::default() })?;
        Ok(self.budget.ask(budget_bytes as usize) as u64)
    }

    /// The block cache that the budget is charged to, if it is, will have to hold `bytes` more.
    pub(crate) fn make_room(&self, bytes: u64) {
        self.budget.make_room(usize::try_from(bytes).unwrap_or(usize::MAX));
    }

    /// That cache refused an entry: gives up a part of the budget for it. `false` if there is none.
    pub(crate) fn yield_to_cache(&self) -> bool {
        self.budget.yield_to_cache()
    }

    /// A snapshot of all counters.
    pub fn stats(&self) -> Stats {
        let mut stats = self.manager.stats();
        stats.thread_panics += self.maintenance_panics.load(Ordering::Relaxed);
        stats
    }

    /// The same for each column family with an open table, in the order of their names.
    pub fn families(&self) -> Vec<FamilyStats> {
        self.families_of(&self.stats())
    }

    fn families_of(&self, stats: &Stats) -> Vec<FamilyStats> {
        families::by_name(stats.scopes.clone(), self.databases.names())
    }

    /// Wasted reads to expect at any budget, from what was measured. O(segments).
    pub fn memory_curve(&self) -> MemoryCurve {
        self.manager.memory_curve()
    }

    /// Visits to segments of tables that a lookup makes on average. `None` before the first lookup.
    pub fn visits_per_lookup(&self) -> Option<f64> {
        warm_start::visits_per_lookup(self.engine, &self.manager)
    }

    /// Tables without filter units that were opened so far.
    pub fn tables_without_units(&self) -> u64 {
        self.tables_without_units.load(Ordering::Relaxed)
    }

    /// Waits until no unit is waiting to be loaded. `false` if `timeout` passed first.
    pub fn wait_idle(&self, timeout: Duration) -> bool {
        self.manager.wait_idle(timeout)
    }

    /// [`stats`](Self::stats) and [`families`](Self::families) in the text format that Prometheus scrapes; its Content-Type is
    /// [`metrics::CONTENT_TYPE`].
    pub fn metrics_text(&self) -> String {
        let stats = self.stats();
        let families = self.families_of(&stats);
        metrics::text_of(Figures {
            stats,
            tables_without_units: self.tables_without_units(),
            tables_written_without_units: self.tables_written_without_units.load(Ordering::Relaxed),
            tables_without_room: self.deferred.count(),
            builder_bytes: self.builder_memory.bytes(),
            families,
        })
    }
}
