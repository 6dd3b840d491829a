//! The filters of all tables that share one budget: settings, manager and maintenance.

pub(crate) mod families;
mod maintenance;
#[cfg(test)]
mod many_databases;
pub mod metrics;
pub(crate) mod shared;
#[cfg(test)]
mod table_life;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use springbloom_index::{LARGE_BLOCK_BYTES, wants_large_blocks};
use springbloom_manager::{Benefit, Manager, ManagerSettings, MemoryCurve, Policy, Stats};

use self::{
    families::FamilyStats,
    maintenance::{Maintenance, Tasks},
    metrics::{Counted, Figures},
};
use crate::{
    budget::budget_control::BudgetControl,
    engine::Engine,
    error::Error,
    settings::{Budget, HostSettings, Settings, table},
    tables::{Tables, files_by_slot::FilesBySlot},
};

/// Elastic filters under one memory budget.
pub struct Filters {
    /// The first field, because fields are dropped in order: it is stopped and has saved hotness before the rest goes.
    _maintenance: Maintenance,
    /// As they were started. The budget may be another one now.
    pub(crate) settings: Settings,
    /// Of them, what an engine's adapter asks.
    pub(crate) host_settings: HostSettings,
    pub(crate) tables: Arc<Tables>,
    pub(crate) budget: Arc<BudgetControl>,
    /// Whether new tables got large blocks lately.
    writes_large_blocks: AtomicBool,
    /// By [`Counted`].
    counts: [AtomicU64; 4],
}

impl Filters {
    /// Starts filters of the engine's tables. Errors on a setting that cannot work.
    pub fn start(settings: Settings, engine: &'static Engine) -> Result<Arc<Self>, Error> {
        Self::start_with(settings, engine, Box::new(Benefit::default()))
    }

    /// As [`start`](Self::start), with another policy than Springbloom's, for experiments.
    pub fn start_with(
        settings: Settings,
        engine: &'static Engine,
        policy: Box<dyn Policy>,
    ) -> Result<Arc<Self>, Error> {
        table::check(&settings)?;
        let settings_of_manager = ManagerSettings {
            // Of a cache, from when one is known.
            budget_bytes: match settings.budget {
                Budget::Bytes(bytes) => bytes as usize,
                Budget::Auto => Budget::UNCHARGED_BYTES as usize,
            },
            inherit_hotness: settings.inherit_hotness,
            reader_bytes: engine.reader_bytes,
            table_bytes: FilesBySlot::TABLE_BYTES,
            ..ManagerSettings::default()
        };
        let manager = Manager::with_policy(settings_of_manager, policy);
        let tables = Arc::new(Tables::new(engine, manager.clone(), settings.warm_start_every.is_some()));
        let budget = Arc::new(BudgetControl::new(manager, &settings));
        let save_every = settings.warm_start_every;
        let tasks = Tasks { tables: tables.clone(), save_every, budget: budget.clone() };
        Ok(Arc::new(Self {
            _maintenance: Maintenance::start(tasks),
            host_settings: HostSettings::of(&settings),
            settings,
            tables,
            budget,
            writes_large_blocks: AtomicBool::new(false),
            counts: Default::default(),
        }))
    }

    /// What is in force, for a log.
    pub(crate) fn settings_text(&self) -> String {
        let Settings { units, segment_size, create_filters, .. } = &self.settings;
        let is_auto = if self.budget.is_auto() { ", chosen by measuring" } else { "" };
        let mut text = format!(
            "budget {} bytes{is_auto}, units {units}, segments of {segment_size} bytes",
            self.budget.in_force(),
        );
        if !create_filters {
            text += ", for reading alone: new tables get stock filters";
        }
        text
    }

    /// Bytes of a block of new tables with a small index, where that is not the engine's default: where the caches that pay for the budget
    /// are small for the data.
    pub(crate) fn block_bytes(&self) -> Option<u32> {
        let databases = &self.tables.databases;
        let data_bytes = databases.data_bytes();
        let memory_bytes = (self.budget.cache_bytes() + databases.row_cache_bytes()) as u64;
        let are_large = wants_large_blocks(data_bytes, memory_bytes);
        if self.writes_large_blocks.swap(are_large, Ordering::Relaxed) != are_large {
            let blocks = if are_large {
                "large blocks, unless their options set a size"
            } else {
                "blocks as their options say"
            };
            self.tables.manager.notices().tell(format!(
                "new tables get {blocks}: the caches have {memory_bytes} bytes, the tables {data_bytes}"
            ));
        }
        are_large.then_some(LARGE_BLOCK_BYTES)
    }

    /// Changes the budget and gives the one that is in force then. A smaller one holds when this returns: units are evicted first.
    pub fn set_budget(&self, budget: Budget) -> Result<u64, Error> {
        table::check_budget(&self.settings, budget)?;
        Ok(self.budget.ask(budget) as u64)
    }

    /// [`set_budget`](Self::set_budget) to this many bytes.
    pub fn set_budget_bytes(&self, budget_bytes: u64) -> Result<u64, Error> {
        self.set_budget(Budget::Bytes(budget_bytes))
    }

    /// Counts what an engine's adapter saw.
    pub(crate) fn count(&self, what: Counted, times: u64) {
        match what {
            Counted::BlockReads => self.tables.manager.count_block_reads(times),
            Counted::SoughtTables => _ = self.budget.sought_tables.fetch_add(times, Ordering::Relaxed),
            other => _ = self.counts[other as usize].fetch_add(times, Ordering::Relaxed),
        }
    }

    /// A snapshot of all counters.
    pub fn stats(&self) -> Stats {
        let mut stats = self.tables.manager.stats();
        stats.thread_panics += self.tables.panics.load(Ordering::Relaxed);
        stats
    }

    /// The same for each column family with an open table, in the order of their names.
    pub fn families(&self) -> Vec<FamilyStats> {
        families::by_name(&self.stats().scopes, self.tables.databases.names())
    }

    /// Wasted reads to expect at any budget, from what was measured. O(segments).
    pub fn memory_curve(&self) -> MemoryCurve {
        self.tables.manager.memory_curve()
    }

    /// Lookups that met a table with units, of which each thread counts one for some tens.
    pub fn lookups(&self) -> u64 {
        self.tables.databases.lookups.load(Ordering::Relaxed)
    }

    /// Visits to segments of tables that a lookup makes on average. `None` before the first lookup.
    pub fn visits_per_lookup(&self) -> Option<f64> {
        let lookups = self.lookups();
        (lookups > 0).then(|| self.tables.manager.outcomes().visits() as f64 / lookups as f64)
    }

    /// Tables without filter units that were opened so far.
    pub fn tables_without_units(&self) -> u64 {
        self.counts[Counted::WithoutUnits as usize].load(Ordering::Relaxed)
    }

    /// Waits until no unit is waiting to be loaded. `false` if `timeout` passed first.
    pub fn wait_idle(&self, timeout: Duration) -> bool {
        self.tables.manager.wait_idle(timeout)
    }

    /// [`stats`](Self::stats) and [`families`](Self::families) in the text format that Prometheus scrapes; its Content-Type is
    /// [`metrics::CONTENT_TYPE`].
    pub fn metrics_text(&self) -> String {
        let stats = self.stats();
        let families = families::by_name(&stats.scopes, self.tables.databases.names());
        metrics::text_of(&Figures {
            stats,
            counts: self.counts.each_ref().map(|count| count.load(Ordering::Relaxed)),
            builder_bytes: self.tables.builder_bytes.load(Ordering::Relaxed),
            families,
        })
    }
}

impl Drop for Filters {
    fn drop(&mut self) {
        self.tables.manager.end();
    }
}
