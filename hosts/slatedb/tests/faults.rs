//! Units that are damaged, missing or of nobody; other filters; small budgets.

mod support;

use std::{
    ops::Range,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use slatedb::{
    Db, FilterPolicy, FilterQuery, WriteBatch,
    object_store::{ObjectStore, ObjectStoreExt},
};
use springbloom_slatedb::{ElasticFilters, Swept, sweep};
use support::{Meter, Until, empty_store, flush, settings, settle, unit_objects};

const PATH: &str = "db";
const KEYS: u32 = if cfg!(feature = "s3") { 4_000 } else { 20_000 };
/// Keys that are looked up to count GETs.
const LOOKUPS: u32 = KEYS / 10;

fn key(number: u32) -> String {
    format!("{:08x}{number:08}", number.wrapping_mul(2_654_435_761))
}

fn start(budget_bytes: usize) -> ElasticFilters {
    ElasticFilters::builder().budget_bytes(budget_bytes).segment_keys(800).start()
}

async fn open(store: Arc<dyn ObjectStore>, policy: Option<Arc<dyn FilterPolicy>>) -> Db {
    let builder =
        Db::builder(PATH, store).with_settings(settings(6 * KEYS as usize)).with_db_cache_disabled();
    match policy {
        Some(policy) => builder.with_filter_policies(vec![policy]).build().await,
        None => builder.build().await,
    }
    .expect("it opens")
}

/// Writes every key with an even number.
async fn fill(db: &Db) {
    for chunk in (0..KEYS).step_by(2).collect::<Vec<_>>().chunks(KEYS as usize / 20) {
        let mut batch = WriteBatch::new();
        chunk.iter().for_each(|&number| batch.put(key(number), [7; 64]));
        db.write(batch).await.expect("the store works");
        flush(db).await;
    }
    settle(db).await;
}

async fn assert_right(db: &Db) {
    for number in 0..KEYS {
        let value = db.get(key(number)).await.expect("the store works");
        assert_eq!(value.is_some(), number % 2 == 0, "{number}");
    }
}

/// A store with a database that was written with elastic filters.
async fn written() -> Arc<dyn ObjectStore> {
    let store = empty_store();
    let elastic = start(0);
    let db = open(store.clone(), Some(elastic.policy(PATH, store.clone()))).await;
    fill(&db).await;
    for view in db.manifest().all_sst_views() {
        let length = view.sst.info.filter_len;
        assert!((1..1000).contains(&length), "a filter block of {length} bytes");
    }
    db.close().await.expect("the store works");
    elastic.wait_written().await;
    store
}

/// GETs of a lookup of an absent key, once units are loaded.
async fn gets_of_absent(store: Arc<dyn ObjectStore>, elastic: Option<&ElasticFilters>) -> f64 {
    let meter = Meter::new(store);
    let db = open(meter.clone(), elastic.map(|elastic| elastic.policy(PATH, meter.clone()))).await;
    let absent = async |from: u32, until: u32| {
        for number in from..until {
            assert_eq!(db.get(key(number * 2 + 1)).await.expect("the store works"), None);
        }
    };
    absent(0, LOOKUPS).await;
    if let Some(elastic) = elastic {
        assert!(elastic.wait_idle(Duration::from_secs(30)).await);
    }
    let before = meter.reads().0;
    absent(LOOKUPS, 2 * LOOKUPS).await;
    let gets = (meter.reads().0 - before) as f64 / f64::from(LOOKUPS);
    db.close().await.expect("the store works");
    gets
}

#[tokio::test(flavor = "multi_thread")]
async fn units_save_gets_and_stay_within_the_budget() {
    let store = written().await;
    // Without a cache, each lookup reads the heads of the filters it asks. What is compared comes on top.
    let mut least = f64::INFINITY;
    for budget_bytes in [0, 8_000, 16_000, 40_000] {
        let elastic = start(budget_bytes);
        let gets = gets_of_absent(store.clone(), Some(&elastic)).await;
        let stats = elastic.stats();
        assert!(stats.used_bytes <= budget_bytes.max(stats.unpaid_bytes), "{stats:?}");
        assert!(gets <= least + 0.1, "{budget_bytes} bytes: {gets} GETs, {least} with less");
        least = least.min(gets);
    }
    let without = gets_of_absent(store, Some(&start(0))).await;
    assert!(least < 0.5 * without, "{least} GETs, {without} without units");
}

#[tokio::test(flavor = "multi_thread")]
async fn units_over_prefixes_save_gets_of_scans() {
    let meter = Meter::new(empty_store());
    let store: Arc<dyn ObjectStore> = meter.clone();
    let elastic = start(1 << 20);
    let over_prefixes = || elastic.prefix_policy(PATH, store.clone(), Arc::new(Until(b'/')));
    let prefix = |number: u32| format!("{}/", key(number));
    let db = open(store.clone(), Some(over_prefixes())).await;
    for chunk in (0..KEYS).step_by(2).collect::<Vec<_>>().chunks(1000) {
        let mut batch = WriteBatch::new();
        chunk.iter().for_each(|&number| batch.put(prefix(number) + "end", [7; 64]));
        db.write(batch).await.expect("the store works");
    }
    flush(&db).await;
    settle(&db).await;
    db.close().await.expect("the store works");
    elastic.wait_written().await;

    let gets_of_absent = async |db: &Db, numbers: Range<u32>| {
        let (scans, before) = (f64::from(numbers.end - numbers.start), meter.reads().0);
        for number in numbers {
            let mut found = db.scan_prefix(prefix(number * 2 + 1), ..).await.expect("the store works");
            assert!(found.next().await.expect("the store works").is_none());
        }
        (meter.reads().0 - before) as f64 / scans
    };
    let stock = open(store.clone(), None).await;
    let without = gets_of_absent(&stock, 0..LOOKUPS).await;
    stock.close().await.expect("the store works");
    let db = open(store.clone(), Some(over_prefixes())).await;
    gets_of_absent(&db, 0..LOOKUPS).await;
    assert!(elastic.wait_idle(Duration::from_secs(30)).await);
    let gets = gets_of_absent(&db, LOOKUPS..2 * LOOKUPS).await;
    assert!(gets < 0.7 * without, "{gets} GETs, {without} without units");

    let visits = elastic.stats().outcomes.visits();
    for number in 0..LOOKUPS {
        let value = db.get(prefix(number) + "end").await.expect("the store works");
        assert_eq!(value.is_some(), number % 2 == 0, "{number}");
    }
    assert_eq!(elastic.stats().outcomes.visits(), visits, "lookups asked for prefixes");
    for number in 0..LOOKUPS {
        let mut found = db.scan_prefix(prefix(number), ..).await.expect("the store works");
        assert_eq!(found.next().await.expect("the store works").is_some(), number % 2 == 0, "{number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_units_cost_reads_only() {
    let store = written().await;
    for path in unit_objects(&*store, PATH).await {
        let mut units = store.get(&path).await.expect("listed").bytes().await.expect("listed").to_vec();
        units.iter_mut().step_by(10).for_each(|byte| *byte ^= 0x10);
        store.put(&path, units.into()).await.expect("the store works");
    }
    let elastic = start(1 << 20);
    let db = open(store.clone(), Some(elastic.policy(PATH, store.clone()))).await;
    assert_right(&db).await;
    let stats = elastic.stats();
    assert!(stats.corrupt_units > 0 && stats.outcomes.rejected == 0, "{stats:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_units_cost_reads_only_and_few_requests() {
    let store = written().await;
    let objects = unit_objects(&*store, PATH).await;
    for path in &objects {
        store.delete(path).await.expect("the store works");
    }
    let elastic = start(1 << 20);
    let db = open(store.clone(), Some(elastic.policy(PATH, store.clone()))).await;
    let begin = Instant::now();
    assert_right(&db).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(elastic.stats().outcomes.rejected, 0);
    // After pauses of 1, 2, 4 seconds and so on.
    let most = objects.len() as u64 * (2 + begin.elapsed().as_secs().ilog2()) as u64;
    assert!(
        (1..=most).contains(&elastic.requested().gets),
        "{:?} for {} objects",
        elastic.requested(),
        objects.len()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_head_may_match() {
    let (store, elastic) = (empty_store(), start(1 << 20));
    let policy = elastic.policy(PATH, store);
    for head in [&b""[..], b"SBS1", &[0xff; 500]] {
        let filter = policy.decode(head);
        assert!(filter.might_match(&FilterQuery::point("key".into())));
        let mut encoded = Vec::new();
        filter.encode(&mut encoded);
        assert_eq!(encoded, head);
        assert!(filter.size() > head.len(), "what it takes in SlateDB's cache");
    }
    let nothing = policy.builder().build();
    assert!(nothing.might_match(&FilterQuery::point("key".into())));
    assert_eq!(elastic.requested().puts, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn stock_filters_and_ours_read_each_others_databases() {
    let store = written().await;
    let stock = open(store.clone(), None).await;
    assert_right(&stock).await;
    stock.put(key(1), b"stock").await.expect("the store works");
    flush(&stock).await;
    stock.close().await.expect("the store works");

    let elastic = start(1 << 20);
    let db = open(store.clone(), Some(elastic.policy(PATH, store.clone()))).await;
    assert_eq!(db.get(key(1)).await.expect("the store works").as_deref(), Some(&b"stock"[..]));
    db.delete(key(1)).await.expect("the store works");
    assert_right(&db).await;
    fill(&db).await;
    assert_right(&db).await;
    db.close().await.expect("the store works");
    elastic.wait_written().await;
    assert_right(&open(store, None).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_deletes_what_has_no_table_and_nothing_else() {
    let store = written().await;
    let folder = slatedb::object_store::path::Path::from(PATH).join("compacted");
    let tables: Vec<_> = unit_objects(&*store, PATH).await;
    let before = tables.len();
    assert_eq!(
        sweep(PATH, store.clone(), Duration::ZERO).await.expect("the store works"),
        Swept { kept: before, deleted: 0 }
    );

    // Units of a table that is gone, whose keys were those of one that is there.
    let name = tables[0].filename().expect("it has one");
    let (keys, _) = name.split_once('-').expect("keys, and what is random");
    let dead =
        slatedb::object_store::path::Path::from(PATH).join("springbloom").join(format!("{keys}-{:032x}", 1));
    store.put(&dead, b"units".to_vec().into()).await.expect("the store works");
    assert_eq!(
        sweep(PATH, store.clone(), Duration::ZERO).await.expect("the store works"),
        Swept { kept: before, deleted: 1 }
    );
    assert!(store.head(&dead).await.is_err(), "units in use were deleted");

    // Tables that no manifest knows any more.
    let elastic = start(1 << 20);
    let db = open(store.clone(), Some(elastic.policy(PATH, store.clone()))).await;
    let live: Vec<_> = db
        .manifest()
        .all_sst_views()
        .map(|view| folder.clone().join(format!("{}.sst", view.sst.id.value())))
        .collect();
    db.close().await.expect("the store works");
    let listed: Vec<_> = store.list_with_delimiter(Some(&folder)).await.expect("the store works").objects;
    for table in listed.into_iter().filter(|table| !live.contains(&table.location)) {
        store.delete(&table.location).await.expect("the store works");
    }
    assert_eq!(
        sweep(PATH, store.clone(), Duration::from_secs(3600)).await.expect("the store works").deleted,
        0,
        "too young"
    );
    let swept = sweep(PATH, store.clone(), Duration::ZERO).await.expect("the store works");
    assert_eq!(swept, Swept { kept: live.len(), deleted: before - live.len() });
    assert!(swept.deleted > 0, "no table was compacted");
    let gets = gets_of_absent(store.clone(), Some(&start(1 << 20))).await;
    let without = gets_of_absent(store, Some(&start(0))).await;
    assert!(gets < 0.5 * without, "{gets} GETs, {without} without units: units in use were deleted");
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_end_while_a_request_hangs() {
    let meter = Meter::new(written().await);
    let elastic = start(1 << 20);
    let db = open(meter.clone(), Some(elastic.policy(PATH, meter.clone()))).await;
    meter.delay_micros.store(60_000_000, Relaxed);
    let lookup = tokio::spawn(async move { db.get(key(1)).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let begin = Instant::now();
    lookup.abort();
    drop(elastic);
    assert!(begin.elapsed() < Duration::from_secs(5));
}

/// Reads that need this thread are not waited for.
#[tokio::test]
async fn a_budget_moves_in_the_only_thread_of_a_runtime() {
    let meter = Meter::new(written().await);
    let elastic = start(1 << 20);
    let db = open(meter.clone(), Some(elastic.policy(PATH, meter.clone()))).await;
    meter.delay_micros.store(20_000, Relaxed);
    let begin = Instant::now();
    for round in 0..20 {
        db.get(key(round)).await.expect("the store works");
        tokio::time::sleep(Duration::from_millis(10)).await;
        elastic.set_budget_bytes(0);
        elastic.set_budget_bytes(1 << 20);
    }
    assert!(begin.elapsed() < Duration::from_secs(60));
}
