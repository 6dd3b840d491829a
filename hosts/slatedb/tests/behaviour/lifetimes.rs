//! What is known of tables ends with those who use it, and takes no memory before or after.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use crate::support::{Meter, Until, empty_store, flush};
use slatedb::{
    Db, DbReader, DbReaderMode, FilterPolicy, Settings, WriteBatch,
    config::DbReaderOptions,
    db_cache::{DbCache, foyer::FoyerCache},
    object_store::ObjectStore,
};
use springbloom_slatedb::ElasticFilters;

const PATH: &str = "db";
const TABLES: u64 = 4;
const KEYS_OF_TABLE: u64 = 10_000;

/// Even numbers are present keys, odd ones absent. Each table holds keys from everywhere.
fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

fn start(budget_bytes: usize) -> ElasticFilters {
    ElasticFilters::builder().budget_bytes(budget_bytes).start()
}

fn many_l0() -> Settings {
    Settings { l0_max_ssts: 100, l0_max_ssts_per_key: 100, compactor_options: None, ..Settings::default() }
}

async fn open_writer(store: &Arc<dyn ObjectStore>, settings: Settings) -> (Db, ElasticFilters) {
    let elastic = start(0);
    let db = Db::builder(PATH, store.clone()).with_settings(settings);
    let db = db.with_filter_policies(vec![elastic.policy(PATH, store.clone())]);
    (db.build().await.expect("it opens"), elastic)
}

async fn write_table(db: &Db, keys: impl Iterator<Item = u64>) {
    let mut batch = WriteBatch::new();
    keys.for_each(|number| batch.put(key(2 * number), [1; 64]));
    db.write(batch).await.expect("the store works");
    flush(db).await;
}

/// A store with a database of some tables.
async fn written() -> Arc<dyn ObjectStore> {
    let store = empty_store();
    let (db, elastic) = open_writer(&store, many_l0()).await;
    for table in 0..TABLES {
        write_table(&db, (0..KEYS_OF_TABLE).map(|n| TABLES * n + table)).await;
    }
    db.close().await.expect("the store works");
    elastic.wait_written().await;
    store
}

async fn open_reader(store: &Arc<dyn ObjectStore>, policy: Arc<dyn FilterPolicy>) -> DbReader {
    let options = DbReaderOptions {
        skip_wal_replay: true,
        manifest_poll_interval: Duration::from_millis(100),
        ..DbReaderOptions::default()
    };
    let reader = DbReader::builder(PATH, store.clone()).with_reader_mode(DbReaderMode::ManagedCheckpoint);
    let reader = reader.with_options(options).with_filter_policies(vec![policy]);
    reader.build().await.expect("it opens")
}

async fn look_up_absent(reader: &DbReader, numbers: impl Iterator<Item = u64>) {
    for number in numbers {
        assert_eq!(reader.get(key(2 * number + 1)).await.expect("the store works"), None);
    }
}

/// Ends of readers and loads need a moment.
async fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("not within half a minute: {what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_reader_leaves_nothing_in_the_budget() {
    let store = written().await;
    let elastic = start(200_000);
    let before = elastic.stats().used_bytes;
    for round in 0..5 {
        let policy = elastic.policy(PATH, store.clone());
        let reader = open_reader(&store, policy).await;
        look_up_absent(&reader, round * 1000..(round + 1) * 1000).await;
        assert_eq!(elastic.stats().tables as u64, TABLES);
        reader.close().await.expect("the store works");
        drop(reader);
        until("no tables", || elastic.stats().tables == 0).await;
    }
    // What threads keep to record visits stays.
    let stats = elastic.stats();
    assert!(stats.used_bytes <= before + 20_000, "{before} bytes before: {stats:?}");
}

/// The cache keeps the filters for the next reader, which learn where they are by its questions.
#[tokio::test(flavor = "multi_thread")]
async fn filters_in_a_shared_cache_keep_nothing_after_their_readers() {
    let store = written().await;
    let elastic = start(200_000);
    let cache: Arc<dyn DbCache> = Arc::new(FoyerCache::new());
    for round in 0..3 {
        let reader = DbReader::builder(PATH, store.clone()).with_reader_mode(DbReaderMode::FollowLatest);
        let reader = reader.with_filter_policies(vec![elastic.policy(PATH, store.clone())]);
        let reader = reader.with_db_cache(cache.clone(), 1).build().await.expect("it opens");
        let before = elastic.stats().outcomes.rejected;
        look_up_absent(&reader, round * 1000..round * 1000 + 500).await;
        assert!(elastic.wait_idle(Duration::from_secs(30)).await);
        look_up_absent(&reader, round * 1000 + 500..(round + 1) * 1000).await;
        let stats = elastic.stats();
        assert_eq!(stats.tables as u64, TABLES);
        assert!(stats.outcomes.rejected - before > 1000, "round {round}: {before} before: {stats:?}");
        reader.close().await.expect("the store works");
        drop(reader);
        until("no tables", || elastic.stats().tables == 0).await;
    }
}

/// A policy that is kept keeps what was loaded for the next reader.
#[tokio::test(flavor = "multi_thread")]
async fn the_last_of_policy_and_reader_ends_what_they_share() {
    let store = written().await;
    let elastic = start(200_000);
    let policy = elastic.policy(PATH, store.clone());
    let reader = open_reader(&store, policy.clone()).await;
    look_up_absent(&reader, 0..1000).await;
    assert!(elastic.wait_idle(Duration::from_secs(30)).await);
    reader.close().await.expect("the store works");
    drop(reader);
    let loaded = elastic.stats().loads;
    let reader = open_reader(&store, policy.clone()).await;
    drop(policy);
    look_up_absent(&reader, 1000..2000).await;
    let stats = elastic.stats();
    assert_eq!((stats.tables as u64, stats.loads), (TABLES, loaded), "{stats:?}");
    reader.close().await.expect("the store works");
    drop(reader);
    until("no tables", || elastic.stats().tables == 0).await;
}

/// GETs of lookups by readers that are open together.
async fn gets_of_readers(store: &Arc<dyn ObjectStore>, budget_bytes: usize, share_policy: bool) -> u64 {
    const READERS: u64 = 60;
    let meter = Meter::new(store.clone());
    let metered: Arc<dyn ObjectStore> = meter.clone();
    let elastic = start(budget_bytes);
    let first = elastic.policy(PATH, metered.clone());
    let mut readers = Vec::new();
    for _ in 0..READERS {
        let policy = if share_policy { first.clone() } else { elastic.policy(PATH, metered.clone()) };
        readers.push(open_reader(&metered, policy).await);
    }
    drop(first);
    let mut before = 0;
    for round in 0..20 {
        if round == 7 {
            // When the first units are there depends on what else the machine does.
            assert!(elastic.wait_idle(Duration::from_secs(30)).await);
            before = meter.reads().0;
        }
        for (reader, number) in readers.iter().zip(0..) {
            look_up_absent(reader, (0..25).map(|n| (round * READERS + number) * 25 + n)).await;
        }
    }
    let gets = meter.gets.load(Relaxed) - before;
    assert_eq!(elastic.stats().tables as u64, TABLES);
    // A reader that is only dropped looks for manifests as long as the runtime lives.
    for reader in readers {
        reader.close().await.expect("the store works");
    }
    gets
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_with_policies_of_their_own_share_what_is_loaded() {
    let store = written().await;
    // Room for all units once, and not for what each of 60 policies would know of the tables. With less room GETs of one run are up to four
    // times those of the next.
    let (mut own, mut shared) = (0, 0);
    for _ in 0..3 {
        shared += gets_of_readers(&store, 200_000, true).await;
        own += gets_of_readers(&store, 200_000, false).await;
    }
    assert!(own as f64 <= 1.5 * shared as f64, "{own} GETs, {shared} with one policy");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_and_prefixes_and_other_stores_share_nothing() {
    let store = written().await;
    let other = written().await;
    let elastic = start(1 << 20);
    let over_prefixes = elastic.prefix_policy(PATH, store.clone(), Arc::new(Until(b'/')));
    let one = open_reader(&store, elastic.policy(PATH, store.clone())).await;
    let two = open_reader(&other, elastic.policy(PATH, other.clone())).await;
    look_up_absent(&one, 0..100).await;
    look_up_absent(&two, 0..100).await;
    let stats = elastic.stats();
    assert_eq!((stats.tables as u64, stats.scopes.len()), (2 * TABLES, 2), "{stats:?}");
    two.close().await.expect("the store works");
    drop((two, over_prefixes));
    until("one database", || elastic.stats().scopes.len() == 1).await;
    assert_eq!(elastic.stats().tables as u64, TABLES);
}

/// SlateDB leaves the filters of tables that compaction replaced in its cache.
#[tokio::test(flavor = "multi_thread")]
async fn tables_that_compaction_replaced_are_forgotten() {
    let store = empty_store();
    let settings =
        Settings { l0_max_ssts: 100, l0_max_ssts_per_key: 100, ..crate::support::settings(4 << 20) };
    let (db, writer) = open_writer(&store, settings).await;
    let elastic = start(30_000);
    let mut reader = None;
    for generation in 0..8 {
        for third in 0..3 {
            write_table(&db, third * 5_000..(third + 1) * 5_000).await;
        }
        crate::support::settle(&db).await;
        writer.wait_written().await;
        if reader.is_none() {
            reader = Some(open_reader(&store, elastic.policy(PATH, store.clone())).await);
        }
        let reader = reader.as_ref().expect("it is open");
        let live = || db.manifest().all_sst_views().map(|view| view.sst.id).collect::<Vec<_>>();
        let seen = || reader.manifest().all_sst_views().map(|view| view.sst.id).collect::<Vec<_>>();
        until("the reader sees the tables", || live() == seen()).await;
        // Lookups come in two bursts, with a pause in which a look can end.
        for burst in 0..2 {
            look_up_absent(reader, (0..2000).map(|n| 4000 * generation + 2000 * burst + n)).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let (known, live) = (elastic.stats().tables, live().len());
        assert!(known <= live + 1, "generation {generation}: {known} tables known, {live} are there");
    }
}

/// Lookups went elsewhere for long, and come back.
#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_was_forgotten_by_mistake_is_known_again() {
    let store = empty_store();
    let elastic = start(200_000);
    let db = Db::builder(PATH, store.clone()).with_settings(many_l0());
    let db = db.with_filter_policies(vec![elastic.policy(PATH, store.clone())]);
    let db = db.build().await.expect("it opens");
    let write = async |part: u64| {
        let mut batch = WriteBatch::new();
        (0..5000u64).for_each(|n| batch.put(((part << 32) | (2 * n)).to_be_bytes(), [1; 50]));
        db.write(batch).await.expect("the store works");
        flush(&db).await;
    };
    let absent = async |part: u64| {
        for n in 0..2000u64 {
            let found = db.get(((part << 32) | (2 * n + 1)).to_be_bytes()).await;
            assert_eq!(found.expect("the store works"), None);
        }
        // A look at the tables may still go on.
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    write(0).await;
    absent(0).await;
    write(1).await;
    for _ in 0..3 {
        absent(1).await;
    }
    assert_eq!(elastic.stats().tables, 1, "a table that nobody asks is known");
    absent(0).await;
    assert!(elastic.wait_idle(Duration::from_secs(30)).await);
    let before = elastic.stats().outcomes.rejected;
    absent(0).await;
    let rejected = elastic.stats().outcomes.rejected - before;
    assert!(rejected > 1900, "{rejected} of 2000 absent keys");
    db.close().await.expect("the store works");
}
