//! The handle of programs: one budget for the filters of all databases that get their policy from it.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use slatedb::config::ReadOptions;
use slatedb::object_store::ObjectStore;
use slatedb::object_store::path::Path;
use slatedb::{DbReadOps, FilterPolicy, PrefixExtractor};
use springbloom_manager::{Manager, ManagerSettings, Stats};

use crate::{
    database::{Database, Databases},
    filters::Filters,
    known_tables::KNOWN_BYTES,
    policy::ElasticPolicy,
    reads,
    traffic::Requested,
};

/// Elastic filters under one memory budget.
pub struct ElasticFilters {
    databases: Arc<Databases>,
}

/// The bookkeeping of a segment takes about as much as one of its units then.
const SEGMENT_KEYS_MIN: u32 = 512;

/// Settings of [`ElasticFilters`].
#[derive(Clone, Debug)]
pub struct Builder {
    budget_bytes: usize,
    segment_keys: u32,
}

impl Builder {
    /// Memory for the units of all databases and their bookkeeping, except the heads, which are in SlateDB's cache. 0: tables get units,
    /// but this process reads none. Default: 64 MiB.
    pub fn budget_bytes(self, budget_bytes: usize) -> Self {
        Self { budget_bytes, ..self }
    }

    /// Keys, or prefixes, for which units are loaded together, in new tables; 512 to 65,536. A unit takes one bit for each. With fewer,
    /// units fit small budgets better and follow the lookups more closely; with more, bookkeeping takes less of the budget and a GET brings
    /// more. A table of more than 4,096 such segments makes a GET for each unit. Default: 8,192.
    pub fn segment_keys(self, segment_keys: u32) -> Self {
        Self { segment_keys: segment_keys.max(SEGMENT_KEYS_MIN), ..self }
    }

    /// Starts the filters.
    pub fn start(self) -> ElasticFilters {
        let manager = Manager::new(ManagerSettings {
            budget_bytes: self.budget_bytes,
            reader_bytes: KNOWN_BYTES,
            ..ManagerSettings::default()
        });
        ElasticFilters { databases: Arc::new(Databases::new(Filters::new(self.segment_keys, manager))) }
    }
}

impl ElasticFilters {
    /// Settings to start with.
    pub fn builder() -> Builder {
        Builder { budget_bytes: 64 << 20, segment_keys: 8192 }
    }

    /// The policy for the database at `path` of `store`, which must be those of the database, for its `Db`, `DbReader`s and compactors. New
    /// tables have their units in the folder `springbloom` of the database.
    ///
    /// Policies for the same path, `Arc` of the store and runtime share what is loaded. When the last of them is dropped, and its readers
    /// are closed, its bytes are free.
    ///
    /// # Panics
    /// Outside of a Tokio runtime. Requests for units are made on this one.
    pub fn policy(&self, path: impl Into<Path>, store: Arc<dyn ObjectStore>) -> Arc<dyn FilterPolicy> {
        self.policy_over(path.into(), store, None)
    }

    /// A further policy for the same database, next to the one for its keys: filters over the prefixes that `extractor` gives, for
    /// `scan_prefix`, and for `scan` of a range whose keys all have such a prefix. They are an object of their own. Lookups do not ask
    /// them.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn prefix_policy(
        &self,
        path: impl Into<Path>,
        store: Arc<dyn ObjectStore>,
        extractor: Arc<dyn PrefixExtractor>,
    ) -> Arc<dyn FilterPolicy> {
        self.policy_over(path.into(), store, Some(extractor))
    }

    fn policy_over(
        &self,
        path: Path,
        store: Arc<dyn ObjectStore>,
        extractor: Option<Arc<dyn PrefixExtractor>>,
    ) -> Arc<dyn FilterPolicy> {
        Arc::new(ElasticPolicy::new(Database::get_or_insert(&self.databases, &path, store, extractor)))
    }

    /// `db.get(key)`, of a `Db`, `DbReader`, `DbSnapshot` or `DbTransaction`, that tells the filters what it found. They then need not
    /// estimate which reads were wasted, and choose units better.
    ///
    /// # Errors
    /// As `db.get(key)`.
    pub async fn get<K: AsRef<[u8]> + Send>(
        &self,
        db: &(impl DbReadOps + Sync),
        key: K,
    ) -> Result<Option<Bytes>, slatedb::Error> {
        self.get_with_options(db, key, &ReadOptions::default()).await
    }

    /// `db.get_with_options(key, options)`, as [`get`](Self::get).
    ///
    /// # Errors
    /// As `db.get_with_options(key, options)`.
    pub async fn get_with_options<K: AsRef<[u8]> + Send>(
        &self,
        db: &(impl DbReadOps + Sync),
        key: K,
        options: &ReadOptions,
    ) -> Result<Option<Bytes>, slatedb::Error> {
        reads::told(db.get_with_options(key, options)).await
    }

    /// Changes the budget, and returns the one in force. A lower one may block the thread for a quarter of a second, for reads of units;
    /// it falls further when slower ones end, and not below what is known of tables takes ([`Stats`](crate::Stats)).
    pub fn set_budget_bytes(&self, budget_bytes: usize) -> usize {
        self.databases.filters.manager.set_budget_bytes(budget_bytes)
    }

    /// A snapshot of all counters.
    pub fn stats(&self) -> Stats {
        self.databases.filters.manager.stats()
    }

    /// Requests for units so far.
    pub fn requested(&self) -> Requested {
        *self.databases.filters.traffic.requested.lock()
    }

    /// Waits until the units of all tables built so far are written. Call it before the process ends: tables whose units are not written
    /// then have no filters. A PUT that does not end is tried four times for five minutes each.
    pub async fn wait_written(&self) {
        let mut writes = self.databases.filters.traffic.writing.subscribe();
        let begun = writes.borrow().begun();
        // The sender is in `self`.
        writes.wait_for(|writes| writes.have_ended(begun)).await.ok();
    }

    /// Waits until no unit is waiting to be read. `false` if `timeout` passed first.
    pub async fn wait_idle(&self, timeout: Duration) -> bool {
        let manager = self.databases.filters.manager.clone();
        tokio::task::spawn_blocking(move || manager.wait_idle(timeout)).await.unwrap_or(false)
    }
}
