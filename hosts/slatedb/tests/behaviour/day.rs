//! A day of a writer, two readers, SlateDB's garbage collector and `sweep`, in simulated time.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::support::{flush, unit_objects};
use chrono::{DateTime, Utc};
use futures::{StreamExt, stream::BoxStream};
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use slatedb::{
    Db, DbReader, DbReaderMode, Settings, WriteBatch,
    config::{
        CompactionWorkerOptions, CompactorOptions, DbReaderOptions, GarbageCollectorDirectoryOptions,
        GarbageCollectorOptions,
    },
    object_store::{
        CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
        PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, memory::InMemory, path::Path,
    },
};
use springbloom_slatedb::{ElasticFilters, sweep};
use tokio::time::Instant;

const PATH: &str = "db";
const KEYS: u32 = 20_000;
const ROUND: Duration = Duration::from_secs(600);
const ROUNDS_OF_HOUR: u32 = 6;
const MIN_AGE: Duration = Duration::from_secs(3600);
/// Of a reader.
const BUDGET: usize = 40_000;

/// A store whose objects have times of the simulated clock: when they were written, or how old they are seen from the real clock.
#[derive(Clone, Debug)]
struct Clocked {
    store: Arc<InMemory>,
    written: Arc<Mutex<HashMap<Path, Instant>>>,
    begin: (Instant, DateTime<Utc>),
    ages_by_real_clock: bool,
}

impl Clocked {
    fn new() -> Self {
        let (store, written) = Default::default();
        Self { store, written, begin: (Instant::now(), Utc::now()), ages_by_real_clock: false }
    }

    fn note(&self, path: &Path) {
        self.written.lock().expect("nobody panicked").insert(path.clone(), Instant::now());
    }

    fn with_time(&self, mut object: ObjectMeta) -> ObjectMeta {
        let (instant, time) = self.begin;
        let written = self.written.lock().expect("nobody panicked").get(&object.location).copied();
        let written = written.unwrap_or(instant);
        object.last_modified = match self.ages_by_real_clock {
            true => Utc::now() - written.elapsed(),
            false => time + (written - instant),
        };
        object
    }
}

impl fmt::Display for Clocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "clocked {}", self.store)
    }
}

#[async_trait::async_trait]
impl ObjectStore for Clocked {
    async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let put = self.store.put_opts(path, payload, options).await?;
        self.note(path);
        Ok(put)
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.note(path);
        self.store.put_multipart_opts(path, options).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        let mut got = self.store.get_opts(path, options).await?;
        got.meta = self.with_time(got.meta);
        Ok(got)
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.store.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let store = self.clone();
        self.store.list(prefix).map(move |object| Ok(store.with_time(object?))).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let mut listed = self.store.list_with_delimiter(prefix).await?;
        listed.objects = listed.objects.into_iter().map(|object| self.with_time(object)).collect();
        Ok(listed)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.note(to);
        self.store.copy_opts(from, to, options).await
    }
}

fn settings() -> Settings {
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    let collected = Some(GarbageCollectorDirectoryOptions {
        interval: Some(minutes(10)),
        min_age: minutes(20),
        ..GarbageCollectorDirectoryOptions::default()
    });
    Settings {
        flush_interval: Some(minutes(1)),
        manifest_poll_interval: minutes(1),
        l0_sst_size_bytes: 64 << 10,
        compactor_options: Some(CompactorOptions {
            poll_interval: minutes(1),
            commit_compacted_interval: minutes(1),
            worker: Some(CompactionWorkerOptions {
                compactions_poll_interval: minutes(1),
                max_sst_size: 256 << 10,
                ..CompactionWorkerOptions::default()
            }),
            ..CompactorOptions::default()
        }),
        garbage_collector_options: Some(GarbageCollectorOptions {
            manifest_options: collected,
            wal_options: collected,
            compacted_options: collected,
            compactions_options: collected,
            ..GarbageCollectorOptions::default()
        }),
        min_filter_keys: 10,
        ..Settings::default()
    }
}

fn key(number: u32) -> String {
    format!("{:08x}{number:08}", number.wrapping_mul(2_654_435_761))
}

/// A reader with its policy. Every third hour another one takes its place.
async fn open_reader(store: &Arc<dyn ObjectStore>, elastic: &ElasticFilters) -> DbReader {
    let options = DbReaderOptions {
        manifest_poll_interval: Duration::from_secs(60),
        checkpoint_lifetime: Duration::from_secs(600),
        ..DbReaderOptions::default()
    };
    let reader = DbReader::builder(PATH, store.clone()).with_reader_mode(DbReaderMode::ManagedCheckpoint);
    let reader = reader.with_options(options).with_filter_policies(vec![elastic.policy(PATH, store.clone())]);
    reader.build().await.expect("it opens")
}

#[tokio::test(start_paused = true)]
async fn a_day_leaves_no_units_and_takes_none_from_tables() {
    let seed = std::env::var("SPRINGBLOOM_SEED")
        .map_or_else(|_| rand::random(), |seed| seed.parse().expect("a number"));
    println!("SPRINGBLOOM_SEED={seed}");
    let mut random = SmallRng::seed_from_u64(seed);
    let clocked = Clocked::new();
    let seen_by_sweep = Arc::new(Clocked { ages_by_real_clock: true, ..clocked.clone() });
    let store: Arc<dyn ObjectStore> = Arc::new(clocked.clone());
    let tables_folder = Path::from(PATH).join("compacted");
    let count_tables = async || clocked.store.list(Some(&tables_folder)).count().await;

    let of_writer = ElasticFilters::builder().budget_bytes(0).start();
    let of_readers = [(); 2].map(|()| ElasticFilters::builder().budget_bytes(BUDGET).start());
    let db = Db::builder(PATH, store.clone()).with_settings(settings());
    let db = db.with_filter_policies(vec![of_writer.policy(PATH, store.clone())]).build().await;
    let db = db.expect("it opens");
    let mut model = HashMap::new();
    let mut readers: Vec<DbReader> = Vec::new();
    let (mut deleted, mut most_bookkeeping) = (0, Vec::new());
    for hour in 0..24 {
        let mut most = 0;
        for _ in 0..ROUNDS_OF_HOUR {
            let mut batch = WriteBatch::new();
            for _ in 0..1500 {
                let number = 2 * random.random_range(0..KEYS / 2);
                let value = vec![random.random(); 50];
                batch.put(key(number), &value);
                model.insert(number, value);
            }
            db.write(batch).await.expect("the store works");
            flush(&db).await;
            tokio::time::sleep(ROUND).await;
            if readers.is_empty() {
                for elastic in &of_readers {
                    readers.push(open_reader(&store, elastic).await);
                }
            }
            for (reader, elastic) in readers.iter().zip(&of_readers) {
                for _ in 0..300 {
                    let number = random.random_range(0..KEYS);
                    let found = reader.get(key(number)).await.expect("the store works");
                    assert_eq!(
                        found.as_deref(),
                        model.get(&number).map(Vec::as_slice),
                        "key {number}, hour {hour}, seed {seed}"
                    );
                }
                assert!(elastic.wait_idle(Duration::from_secs(60)).await);
                let stats = elastic.stats();
                assert!(stats.used_bytes <= BUDGET, "hour {hour}, seed {seed}: {stats:?}");
                let seen = reader.manifest().all_sst_views().count();
                // A round of lookups is too short for more than one look, and three looks forget a table.
                assert!(
                    stats.tables <= seen + 24,
                    "hour {hour}, seed {seed}: {} tables known, {seen} are there",
                    stats.tables
                );
                most = most.max(stats.used.bookkeeping);
            }
        }
        most_bookkeeping.push(most);
        let swept = sweep(PATH, seen_by_sweep.clone(), MIN_AGE).await.expect("the store works");
        deleted += swept.deleted;
        let young = ROUNDS_OF_HOUR as usize * 8;
        let tables = count_tables().await;
        assert!(swept.kept <= tables + young, "hour {hour}, seed {seed}: {swept:?} of {tables} tables");
        if hour % 3 == 2 {
            for reader in readers.drain(..) {
                reader.close().await.expect("the store works");
            }
        }
    }
    assert!(deleted > 24, "{deleted} objects were deleted: tables were not replaced");
    // What is known of tables does not pile up.
    let of_hours = |hours: &[usize]| *hours.iter().max().expect("some hours");
    let (before, after) = (of_hours(&most_bookkeeping[3..12]), of_hours(&most_bookkeeping[12..]));
    assert!(after <= before * 5 / 4, "bookkeeping by hour, seed {seed}: {most_bookkeeping:?}");

    // At the end exactly the tables have units, and these work.
    let live = db.manifest().all_sst_views().count();
    db.close().await.expect("the store works");
    of_writer.wait_written().await;
    sweep(PATH, seen_by_sweep.clone(), Duration::ZERO).await.expect("the store works");
    let (units, tables) = (unit_objects(&*clocked.store, PATH).await.len(), count_tables().await);
    assert!(
        (live..=tables).contains(&units),
        "seed {seed}: {units} units, {tables} tables, {live} of them live"
    );
    let elastic = ElasticFilters::builder().budget_bytes(4 << 20).start();
    let reader = open_reader(&store, &elastic).await;
    for pass in 0..2 {
        for number in (1..KEYS).step_by(20) {
            assert_eq!(reader.get(key(number)).await.expect("the store works"), None);
        }
        assert!(elastic.wait_idle(Duration::from_secs(60)).await);
        if pass == 0 {
            continue;
        }
        let outcomes = elastic.stats().outcomes;
        // In the first pass all were read for nothing until the units came.
        assert!(outcomes.rejected > outcomes.wasted_reads, "seed {seed}: {outcomes:?}");
    }
    let before = elastic.stats().outcomes;
    for number in (3..KEYS).step_by(20) {
        assert_eq!(reader.get(key(number)).await.expect("the store works"), None);
    }
    let outcomes = elastic.stats().outcomes;
    let wasted = outcomes.visits() - outcomes.rejected - (before.visits() - before.rejected);
    let visits = outcomes.visits() - before.visits();
    // A table without units would let all pass.
    assert!(wasted * 20 * live as u64 <= visits, "seed {seed}: {wasted} of {visits} passed, {live} tables");
    reader.close().await.expect("the store works");
}
