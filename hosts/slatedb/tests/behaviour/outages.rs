//! The store fails, refuses or hangs where units are concerned. Answers stay right, and what passes leaves no trace.

use std::{
    fmt,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering::Relaxed},
    },
    time::Duration,
};

use crate::support::{flush, unit_objects};
use futures::stream::BoxStream;
use slatedb::{
    Db, Settings, WriteBatch,
    object_store::{
        CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
        PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, memory::InMemory, path::Path,
    },
};
use springbloom_slatedb::{ElasticFilters, sweep};

const PATH: &str = "db";
const KEYS: u32 = 6_000;

/// What happens to requests for units.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// 404
    Missing,
    /// 403
    Refused,
    /// 500
    Fails,
    Hangs,
}

const FAULTS: [Fault; 5] = [Fault::None, Fault::Missing, Fault::Refused, Fault::Fails, Fault::Hangs];

#[derive(Debug)]
struct Faulty {
    store: Arc<InMemory>,
    fault: AtomicU8,
}

impl Faulty {
    fn new() -> Arc<Self> {
        Arc::new(Self { store: Arc::default(), fault: AtomicU8::new(0) })
    }

    fn set(&self, fault: Fault) {
        self.fault.store(FAULTS.iter().position(|&other| other == fault).expect("it is one") as u8, Relaxed);
    }

    async fn suffer(&self, path: &Path) -> Result<()> {
        if !path.as_ref().contains("springbloom") {
            return Ok(());
        }
        let path = path.to_string();
        match FAULTS[usize::from(self.fault.load(Relaxed))] {
            Fault::None => Ok(()),
            Fault::Missing => Err(Error::NotFound { path, source: "a test".into() }),
            Fault::Refused => Err(Error::PermissionDenied { path, source: "a test".into() }),
            Fault::Fails => Err(Error::Generic { store: "faulty", source: "a test".into() }),
            Fault::Hangs => std::future::pending().await,
        }
    }
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "faulty {}", self.store)
    }
}

#[async_trait::async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.suffer(path).await?;
        self.store.put_opts(path, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.suffer(path).await?;
        self.store.put_multipart_opts(path, options).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        self.suffer(path).await?;
        self.store.get_opts(path, options).await
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.store.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.store.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.store.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.store.copy_opts(from, to, options).await
    }
}

/// Even numbers are present.
fn key(number: u32) -> String {
    format!("{:08x}{number}", number.wrapping_mul(2_654_435_761))
}

async fn open(store: &Arc<Faulty>, elastic: &ElasticFilters) -> Db {
    let settings = Settings { compactor_options: None, min_filter_keys: 10, ..Settings::default() };
    let db = Db::builder(PATH, store.clone()).with_settings(settings);
    let db = db.with_filter_policies(vec![elastic.policy(PATH, store.clone())]);
    db.build().await.expect("it opens")
}

async fn write(db: &Db) {
    for third in 0..3 {
        let mut batch = WriteBatch::new();
        (0..KEYS / 2).filter(|n| n % 3 == third).for_each(|n| batch.put(key(2 * n), [1; 50]));
        db.write(batch).await.expect("the store works");
        flush(db).await;
    }
}

async fn assert_right(db: &Db, numbers: Range<u32>) {
    for number in numbers {
        let found = db.get(key(number)).await.expect("the store works");
        assert_eq!(found.is_some(), number % 2 == 0, "{number}");
    }
}

/// Share of questions about absent keys that were answered without a read.
async fn share_rejected(db: &Db, elastic: &ElasticFilters) -> f64 {
    let before = elastic.stats().outcomes;
    for number in (1..KEYS).step_by(2) {
        assert_eq!(db.get(key(number)).await.expect("the store works"), None);
    }
    let outcomes = elastic.stats().outcomes;
    (outcomes.rejected - before.rejected) as f64 / (outcomes.visits() - before.visits()) as f64
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_of_reads_leaves_no_trace() {
    for fault in FAULTS {
        let store = Faulty::new();
        let writer = ElasticFilters::builder().budget_bytes(0).start();
        let db = open(&store, &writer).await;
        write(&db).await;
        db.close().await.expect("the store works");
        writer.wait_written().await;

        store.set(fault);
        let elastic = ElasticFilters::builder().budget_bytes(1 << 20).start();
        let db = open(&store, &elastic).await;
        assert_right(&db, 0..KEYS).await;
        if fault != Fault::None {
            assert_eq!(elastic.stats().outcomes.rejected, 0, "{fault:?}");
        }
        store.set(Fault::None);
        let mut share = 0.0;
        for _ in 0..90 {
            share = share_rejected(&db, &elastic).await;
            if share > 0.99 {
                break;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert!(share > 0.99, "{fault:?}: {share} of absent keys rejected a minute after");
        assert_right(&db, 0..KEYS).await;
        db.close().await.expect("the store works");
    }
}

/// Writes and lookups go on; tables whose units were not written have no filters for others.
#[tokio::test(flavor = "multi_thread")]
async fn units_that_cannot_be_written_hold_nothing_up() {
    for fault in [Fault::Refused, Fault::Fails, Fault::Hangs] {
        let store = Faulty::new();
        store.set(fault);
        let writer = ElasticFilters::builder().budget_bytes(1 << 20).start();
        let db = open(&store, &writer).await;
        write(&db).await;
        assert_right(&db, 0..KEYS).await;
        db.close().await.expect("the store works");
        if fault != Fault::Hangs {
            writer.wait_written().await;
            assert_eq!(writer.requested().failed_puts, 3, "{fault:?}");
        }
        store.set(Fault::None);
        assert_eq!(unit_objects(&*store, PATH).await, [], "{fault:?}");
        let reader = ElasticFilters::builder().budget_bytes(1 << 20).start();
        let db = open(&store, &reader).await;
        assert_right(&db, 0..KEYS).await;
        db.close().await.expect("the store works");
    }
}

/// Filters, policies and databases end in any order, in the middle of lookups.
#[tokio::test(flavor = "multi_thread")]
async fn filters_may_go_while_lookups_use_them() {
    for round in 0..6 {
        let store = Faulty::new();
        let elastic = ElasticFilters::builder().budget_bytes(100_000).start();
        let policy = elastic.policy(PATH, store.clone());
        let db = Arc::new(open(&store, &elastic).await);
        write(&db).await;
        let lookups = [0, 1].map(|half| {
            let db = db.clone();
            tokio::spawn(async move { assert_right(&db, half * KEYS / 2..(half + 1) * KEYS / 2).await })
        });
        tokio::time::sleep(Duration::from_millis(5 * round)).await;
        match round % 3 {
            0 => drop((policy, elastic)),
            1 => {
                elastic.set_budget_bytes(0);
                drop((elastic, policy));
            }
            _ => drop(elastic),
        }
        for lookups in lookups {
            lookups.await.expect("every answer is right");
        }
        db.close().await.expect("the store works");
        sweep(PATH, store, Duration::ZERO).await.expect("the store works");
    }
}
