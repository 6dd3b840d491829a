//! The handle of programs: one budget for the filters of all databases that get their policy from it.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use slatedb::{
    FilterPolicy, PrefixExtractor, PrefixTarget,
    object_store::{ObjectStore, path::Path},
};
use springbloom_manager::{Manager, ManagerSettings, ScopeId, Stats, TableId, allocated_bytes};
use tokio::{runtime::Handle, sync::watch};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::{
    head::UnitsName,
    policy::ElasticPolicy,
    requests::Requests,
    sweep::units_folder,
    table::TABLE_BYTES,
    unit_objects::{Counters, UnitObjects},
};

/// What is known of a table stays for so long after its filter left SlateDB's cache.
const FORGET_AFTER: Duration = Duration::from_secs(600);

/// Elastic filters under one memory budget.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), slatedb::Error> {
/// use std::sync::Arc;
/// use slatedb::{Db, object_store::memory::InMemory};
/// use springbloom_slatedb::ElasticFilters;
///
/// let store = Arc::new(InMemory::new());
/// let elastic = ElasticFilters::builder().budget_bytes(64 << 20).start();
/// let policy = elastic.policy("orders", store.clone());
/// let db = Db::builder("orders", store).with_filter_policies(vec![policy]).build().await?;
/// db.put(b"key", b"value").await?;
/// db.close().await?;
/// elastic.wait_written().await;
/// # Ok(())
/// # }
/// ```
pub struct ElasticFilters(Arc<Filters>);

/// Settings of [`ElasticFilters`].
#[derive(Clone, Debug)]
pub struct Builder {
    budget_bytes: usize,
    segment_data_bytes: u64,
}

/// Requests to object stores that were made for units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requested {
    /// Reads.
    pub gets: u64,
    /// Bytes that were read.
    pub get_bytes: u64,
    /// Attempts to write.
    pub puts: u64,
    /// Bytes that were written.
    pub put_bytes: u64,
    /// Objects that were given up. Their tables have no filters.
    pub failed_puts: u64,
}

impl Builder {
    /// Memory for the units of all databases and all that is kept beside them, but for the heads, which are in SlateDB's cache. 0: tables
    /// get units, for others to read. Default: 64 MiB.
    pub fn budget_bytes(self, budget_bytes: usize) -> Self {
        Self { budget_bytes, ..self }
    }

    /// Bytes of keys and values for which units are loaded together. Default: 8 MiB.
    pub fn segment_data_bytes(self, segment_data_bytes: u64) -> Self {
        Self { segment_data_bytes, ..self }
    }

    /// Starts the filters.
    pub fn start(self) -> ElasticFilters {
        let manager = Manager::new(ManagerSettings {
            budget_bytes: self.budget_bytes,
            reader_bytes: allocated_bytes(TABLE_BYTES),
            ..ManagerSettings::default()
        });
        ElasticFilters(Arc::new(Filters {
            is_closed: Arc::default(),
            segment_data_bytes: self.segment_data_bytes,
            counters: Arc::default(),
            writing: watch::Sender::new(0),
            next_scope: AtomicU64::new(0),
            closed_tables: Mutex::default(),
            manager,
        }))
    }
}

impl ElasticFilters {
    /// Settings to start with.
    pub fn builder() -> Builder {
        Builder { budget_bytes: 64 << 20, segment_data_bytes: 8 << 20 }
    }

    /// The policy for the database at `path` of `store`, which must be those of the database. Its `Db`, `DbReader`s and compactors should
    /// share it: each policy pays for the tables that it knows. New tables have their units in the folder `springbloom` of the database.
    ///
    /// # Panics
    /// Outside of a Tokio runtime. Requests for units are made on this one.
    pub fn policy(&self, path: impl Into<Path>, store: Arc<dyn ObjectStore>) -> Arc<dyn FilterPolicy> {
        self.policy_over(path.into(), store, None)
    }

    /// A further policy for the same database, beside the one for its keys: filters for `scan_prefix`, over the prefixes that `extractor`
    /// gives. They are an object of their own. Lookups do not ask them.
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
        let Self(filters) = self;
        let scope = ScopeId(filters.next_scope.fetch_add(1, Relaxed));
        let requests = Requests::new(Handle::current(), filters.is_closed.clone());
        let folder = units_folder(&path).to_string();
        let (filters, folders) = (filters.clone(), Mutex::default());
        let database = Database { filters, scope, store, requests, folder, folders, extractor };
        Arc::new(ElasticPolicy::new(Arc::new(database)))
    }

    /// Changes the budget, and gives the one in force then. A lower one may block the thread for a quarter of a second, for reads of units;
    /// it falls further when slower ones end.
    pub fn set_budget_bytes(&self, budget_bytes: usize) -> usize {
        self.0.manager.set_budget_bytes(budget_bytes)
    }

    /// A reading of all counters.
    pub fn stats(&self) -> Stats {
        self.0.manager.stats()
    }

    /// Requests for units so far.
    pub fn requested(&self) -> Requested {
        let Counters { gets, get_bytes, puts, put_bytes, failed_puts } = &*self.0.counters;
        let [gets, get_bytes, puts, put_bytes, failed_puts] =
            [gets, get_bytes, puts, put_bytes, failed_puts].map(|counter| counter.load(Relaxed));
        Requested { gets, get_bytes, puts, put_bytes, failed_puts }
    }

    /// Waits until the units of all tables are written that were built so far. Do it before the process ends: what is not written then is
    /// lost, and its tables have no filters.
    pub async fn wait_written(&self) {
        // The sender is in `self`.
        self.0.writing.subscribe().wait_for(|writing| *writing == 0).await.ok();
    }

    /// Waits until no unit is waiting to be read. `false` if `timeout` passed first.
    pub async fn wait_idle(&self, timeout: Duration) -> bool {
        let manager = self.0.manager.clone();
        tokio::task::spawn_blocking(move || manager.wait_idle(timeout)).await.unwrap_or(false)
    }
}

/// What policies and tables share.
struct Filters {
    is_closed: Arc<AtomicBool>,
    segment_data_bytes: u64,
    counters: Arc<Counters>,
    writing: watch::Sender<usize>,
    next_scope: AtomicU64,
    closed_tables: Mutex<VecDeque<(Instant, TableId)>>,
    manager: Arc<Manager>,
}

impl Drop for Filters {
    fn drop(&mut self) {
        // The manager waits for its thread, which may wait for a request.
        self.is_closed.store(true, Relaxed);
    }
}

/// A database with a policy, for its keys or for their prefixes.
pub(crate) struct Database {
    filters: Arc<Filters>,
    scope: ScopeId,
    store: Arc<dyn ObjectStore>,
    requests: Requests,
    folder: String,
    /// Its own, and those of databases that it is a clone of.
    folders: Mutex<HashMap<String, Arc<UnitObjects>>>,
    /// Of the prefixes.
    extractor: Option<Arc<dyn PrefixExtractor>>,
}

impl Database {
    pub(crate) fn manager(&self) -> &Manager {
        &self.filters.manager
    }

    pub(crate) fn segment_data_bytes(&self) -> u64 {
        self.filters.segment_data_bytes
    }

    pub(crate) fn scope(&self) -> ScopeId {
        self.scope
    }

    /// That of the prefixes which the filters are over; `None`: they are over keys.
    pub(crate) fn extractor(&self) -> Option<&dyn PrefixExtractor> {
        self.extractor.as_deref()
    }

    /// The prefix of `bytes`, which `target` holds, if it has one.
    pub(crate) fn prefix_of<'b>(&self, target: &PrefixTarget, bytes: &'b [u8]) -> Option<&'b [u8]> {
        bytes.get(..self.extractor()?.prefix_len(target)?)
    }

    /// Where units of new tables go.
    pub(crate) fn folder(&self) -> &str {
        &self.folder
    }

    pub(crate) fn objects(&self, folder: &str) -> Arc<UnitObjects> {
        let mut folders = self.folders.lock();
        if let Some(objects) = folders.get(folder) {
            return objects.clone();
        }
        let (counters, writing) = (self.filters.counters.clone(), self.filters.writing.clone());
        let objects =
            Arc::new(UnitObjects::new(self.store.clone(), folder, self.requests.clone(), counters, writing));
        folders.insert(folder.to_owned(), objects.clone());
        objects
    }

    /// Another policy that has the table too has a state of its own.
    pub(crate) fn table_id(&self, name: UnitsName) -> TableId {
        TableId(xxh3_64_with_seed(&name.to_bytes(), self.scope.0))
    }

    /// A filter of the table was closed. Forgets the tables that have been closed for long.
    pub(crate) fn closed(&self, table: TableId) {
        let now = Instant::now();
        let mut closed = self.filters.closed_tables.lock();
        closed.push_back((now, table));
        while let Some(&(since, table)) = closed.front()
            && now - since > FORGET_AFTER
        {
            closed.pop_front();
            self.manager().forget_closed(table);
        }
    }
}
