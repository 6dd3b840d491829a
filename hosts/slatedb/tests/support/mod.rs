//! What the tests and the measurements share.

#![allow(dead_code)] // each uses a part

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use futures::{StreamExt, stream::BoxStream};
use slatedb::{
    Db, PrefixExtractor, PrefixTarget,
    config::{CompactionWorkerOptions, CompactorOptions, FlushOptions, FlushType, Settings},
    object_store::{
        CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
        ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, path::Path,
    },
};

/// What happens to requests for units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    None,
    /// 404
    Missing,
    /// 403
    Refused,
    /// 500
    Fails,
    Hangs,
}

pub const FAULTS: [Fault; 5] = [Fault::None, Fault::Missing, Fault::Refused, Fault::Fails, Fault::Hangs];

/// Counts the requests to a store, delays each, and lets those for units fail.
#[derive(Debug)]
pub struct Meter {
    store: Arc<dyn ObjectStore>,
    pub gets: AtomicU64,
    pub get_bytes: AtomicU64,
    pub puts: AtomicU64,
    pub delay_micros: AtomicU64,
    /// Whether a list of a folder is without its tables.
    pub hides_tables: AtomicBool,
    /// Whether reads of tables lack the last byte.
    pub shortens_tables: AtomicBool,
    fault: AtomicU8,
}

impl Meter {
    pub fn new(store: Arc<dyn ObjectStore>) -> Arc<Self> {
        let (gets, get_bytes, puts, delay_micros, hides_tables, shortens_tables, fault) = Default::default();
        Arc::new(Self { store, gets, get_bytes, puts, delay_micros, hides_tables, shortens_tables, fault })
    }

    pub fn reads(&self) -> (u64, u64) {
        (self.gets.load(Relaxed), self.get_bytes.load(Relaxed))
    }

    pub fn set(&self, fault: Fault) {
        self.fault.store(FAULTS.iter().position(|&other| other == fault).expect("it is one") as u8, Relaxed);
    }

    async fn suffer(&self, path: &Path) -> Result<()> {
        let micros = self.delay_micros.load(Relaxed);
        if micros > 0 {
            tokio::time::sleep(Duration::from_micros(micros)).await;
        }
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

impl fmt::Display for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "metered {}", self.store)
    }
}

#[async_trait::async_trait]
impl ObjectStore for Meter {
    async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.puts.fetch_add(1, Relaxed);
        self.suffer(path).await?;
        self.store.put_opts(path, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.puts.fetch_add(1, Relaxed);
        self.suffer(path).await?;
        self.store.put_multipart_opts(path, options).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        self.gets.fetch_add(1, Relaxed);
        self.suffer(path).await?;
        let mut result = self.store.get_opts(path, options).await?;
        if self.shortens_tables.load(Relaxed) && path.as_ref().ends_with(".sst") {
            let GetResult { meta, range, attributes, extensions, .. } = &result;
            let (meta, range) = (meta.clone(), range.clone());
            let (attributes, extensions) = (attributes.clone(), extensions.clone());
            let mut bytes = result.bytes().await?;
            bytes.truncate(bytes.len().saturating_sub(1));
            let payload = GetResultPayload::Stream(futures::stream::iter([Ok(bytes)]).boxed());
            result = GetResult { payload, meta, range, attributes, extensions };
        }
        self.get_bytes.fetch_add(result.range.end - result.range.start, Relaxed);
        Ok(result)
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.store.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.store.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let mut listed = self.store.list_with_delimiter(prefix).await?;
        if self.hides_tables.load(Relaxed) {
            listed.objects.retain(|object| !object.location.as_ref().ends_with(".sst"));
        }
        Ok(listed)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.store.copy_opts(from, to, options).await
    }
}

/// A key's bytes before the separator, and the separator.
pub struct Until(pub u8);

impl PrefixExtractor for Until {
    fn name(&self) -> &str {
        "until"
    }

    fn prefix_len(&self, target: &PrefixTarget) -> Option<usize> {
        let (PrefixTarget::Point(bytes) | PrefixTarget::Prefix(bytes)) = target;
        bytes.iter().position(|&byte| byte == self.0).map(|at| at + 1)
    }
}

/// An empty store for a test: in memory, or in the S3 bucket that the environment names.
#[cfg(not(feature = "s3"))]
pub fn empty_store() -> Arc<dyn ObjectStore> {
    Arc::new(slatedb::object_store::memory::InMemory::new())
}

#[cfg(feature = "s3")]
pub fn empty_store() -> Arc<dyn ObjectStore> {
    use slatedb::object_store::{aws::AmazonS3Builder, prefix::PrefixStore};
    let bucket = AmazonS3Builder::from_env().build().expect("the environment names it");
    Arc::new(PrefixStore::new(bucket, format!("{:032x}", rand::random::<u128>())))
}

/// Settings under which few keys make a tree of many tables.
pub fn settings(l0_sst_size_bytes: usize) -> Settings {
    Settings {
        flush_interval: Some(Duration::from_millis(20)),
        manifest_poll_interval: Duration::from_millis(50),
        l0_sst_size_bytes,
        compactor_options: Some(CompactorOptions {
            poll_interval: Duration::from_millis(50),
            commit_compacted_interval: Duration::from_millis(50),
            worker: Some(CompactionWorkerOptions {
                compactions_poll_interval: Duration::from_millis(50),
                max_sst_size: 4 * l0_sst_size_bytes,
                ..CompactionWorkerOptions::default()
            }),
            ..CompactorOptions::default()
        }),
        min_filter_keys: 10,
        garbage_collector_options: None,
        ..Settings::default()
    }
}

/// Writes the memory tables to level 0.
pub async fn flush(db: &Db) {
    db.flush_with_options(FlushOptions { flush_type: FlushType::MemTable }).await.expect("the store works");
}

/// Waits until compactions have done what they will do. They leave at most three tables in level 0.
pub async fn settle(db: &Db) {
    while db.manifest().l0().len() > 3 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let tables = || db.manifest().all_sst_views().map(|view| view.sst.id).collect::<Vec<_>>();
    let (mut before, mut unchanged) = (tables(), 0);
    while unchanged < 8 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let now = tables();
        unchanged = if now == before { unchanged + 1 } else { 0 };
        before = now;
    }
}

/// Paths of the objects with units of the database.
pub async fn unit_objects(store: &dyn ObjectStore, database: &str) -> Vec<Path> {
    let folder = Path::from(database).join("springbloom");
    store.list(Some(&folder)).map(|object| object.expect("the store works").location).collect().await
}
