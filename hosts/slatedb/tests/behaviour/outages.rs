//! The store fails, refuses or hangs where units are concerned. Answers stay right, and what passes leaves no trace.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use crate::support::{FAULTS, Fault, Meter, flush, unit_objects};
use slatedb::{
    Db, RowEntry, Settings, ValueDeletable, WriteBatch, bytes::Bytes, object_store::memory::InMemory,
};
use springbloom_slatedb::{ElasticFilters, sweep};

const PATH: &str = "db";
const KEYS: u32 = 6_000;

/// Even numbers are present.
fn key(number: u32) -> String {
    format!("{:08x}{number}", number.wrapping_mul(2_654_435_761))
}

async fn open(store: &Arc<Meter>, elastic: &ElasticFilters) -> Db {
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
        let store = Meter::new(Arc::new(InMemory::new()));
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
        let store = Meter::new(Arc::new(InMemory::new()));
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

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_units_does_not_wait_for_those_of_later_tables() {
    let store = Meter::new(Arc::new(InMemory::new()));
    store.delay_micros.store(20_000, Relaxed);
    let elastic = ElasticFilters::builder().budget_bytes(0).start();
    let policy = elastic.policy(PATH, store.clone());
    let built = Arc::new(AtomicUsize::new(0));
    let counted = built.clone();
    // Some are being written at any time.
    let building = tokio::spawn(async move {
        loop {
            let mut builder = policy.builder();
            let (key, value) = (Bytes::from_static(b"key"), ValueDeletable::Tombstone);
            builder.add_entry(&RowEntry { key, value, seq: 1, create_ts: None, expire_ts: None });
            builder.build();
            counted.fetch_add(1, Relaxed);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    let before = built.load(Relaxed);
    tokio::time::timeout(Duration::from_secs(30), elastic.wait_written()).await.expect("it ends");
    assert!(before > 0 && unit_objects(&*store, PATH).await.len() >= before);
    building.abort();
}

/// Filters, policies and databases end in any order, in the middle of lookups.
#[tokio::test(flavor = "multi_thread")]
async fn filters_may_go_while_lookups_use_them() {
    for round in 0..6 {
        let store = Meter::new(Arc::new(InMemory::new()));
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
