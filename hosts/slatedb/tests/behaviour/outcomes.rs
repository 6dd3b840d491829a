//! What reads found reaches the filters, and ranges ask what prefixes do.

use std::{ops::Bound, sync::Arc, time::Duration};

use crate::support::{Meter, Until, flush};
use slatedb::{
    Db, Filter, FilterBuilder, FilterContext, FilterPolicy, FilterQuery, RowEntry, Settings, WriteBatch,
    bytes::{BufMut, Bytes},
    config::ReadOptions,
    object_store::memory::InMemory,
};
use springbloom_slatedb::ElasticFilters;

const PATH: &str = "db";
const TABLES: u32 = 3;
const KEYS: u32 = 6_000;

/// Even numbers are present, odd ones absent.
fn key(number: u32) -> String {
    format!("{:08x}/{number}", number.wrapping_mul(2_654_435_761))
}

/// Budget 0: the filters of a writer.
async fn written(meter: &Arc<Meter>, over_prefixes: bool) {
    let elastic = ElasticFilters::builder().budget_bytes(0).start();
    let policy = match over_prefixes {
        true => elastic.prefix_policy(PATH, meter.clone(), Arc::new(Until(b'/'))),
        false => elastic.policy(PATH, meter.clone()),
    };
    let settings = Settings { compactor_options: None, min_filter_keys: 10, ..Settings::default() };
    let db = Db::builder(PATH, meter.clone()).with_settings(settings).with_filter_policies(vec![policy]);
    let db = db.build().await.expect("it opens");
    for table in 0..TABLES {
        let mut batch = WriteBatch::new();
        (0..KEYS).filter(|n| n % TABLES == table).for_each(|n| batch.put(key(2 * n), [table as u8; 50]));
        db.write(batch).await.expect("the store works");
        flush(&db).await;
    }
    db.close().await.expect("the store works");
    elastic.wait_written().await;
}

async fn open(meter: &Arc<Meter>, elastic: &ElasticFilters, over_prefixes: bool) -> Db {
    let policy = match over_prefixes {
        true => elastic.prefix_policy(PATH, meter.clone(), Arc::new(Until(b'/'))),
        false => elastic.policy(PATH, meter.clone()),
    };
    let settings = Settings { compactor_options: None, ..Settings::default() };
    let db = Db::builder(PATH, meter.clone()).with_settings(settings).with_filter_policies(vec![policy]);
    db.build().await.expect("it opens")
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_are_told_as_they_ended() {
    let meter = Meter::new(Arc::new(InMemory::new()));
    written(&meter, false).await;
    // Room for one or two of sixteen units.
    let elastic = ElasticFilters::builder().budget_bytes(8_000).start();
    let db = open(&meter, &elastic, false).await;
    let (mut present, mut absent) = (0, 0);
    // Few keys, again and again: an absent one that passes looks like a present one to who is not told.
    for round in 0..50 {
        for number in (0..KEYS).step_by(60).map(|number| number + round % 2) {
            let found = elastic.get(&db, key(number)).await.expect("the store works");
            assert_eq!(found.is_some(), number % 2 == 0, "{number}");
            *(if found.is_some() { &mut present } else { &mut absent }) += 1;
        }
    }
    let outcomes = elastic.stats().outcomes;
    assert_eq!(outcomes.true_positives, present, "{outcomes:?}");
    assert_eq!(outcomes.not_read, 0, "{outcomes:?}");
    // Each absent key was asked of all tables whose keys surround it.
    assert!(outcomes.rejected + outcomes.wasted_reads >= absent, "{outcomes:?}");
    assert!(outcomes.rejected > 0 && outcomes.wasted_reads > 0, "{outcomes:?}");

    // A context of the program's goes to its own policies.
    let options = ReadOptions::default().with_filter_context(Some(FilterContext::Inline([7; 64])));
    let found = elastic.get_with_options(&db, key(0), &options).await.expect("the store works");
    assert!(found.is_some());
    let found = elastic.get(&*db.snapshot().expect("it is open"), key(0)).await;
    assert!(found.expect("the store works").is_some());
    db.close().await.expect("the store works");
}

/// A policy of the program's, and its filters: a context means that no table holds the key.
#[derive(Clone)]
struct NothingInContext;

impl FilterPolicy for NothingInContext {
    fn name(&self) -> &str {
        "context"
    }

    fn builder(&self) -> Box<dyn FilterBuilder> {
        Box::new(self.clone())
    }

    fn decode(&self, _: &[u8]) -> Arc<dyn Filter> {
        Arc::new(self.clone())
    }

    fn estimate_size(&self, _: usize) -> usize {
        0
    }
}

impl FilterBuilder for NothingInContext {
    fn add_entry(&mut self, _: &RowEntry) {}

    fn build(&mut self) -> Arc<dyn Filter> {
        Arc::new(self.clone())
    }
}

impl Filter for NothingInContext {
    fn might_match(&self, query: &FilterQuery) -> bool {
        query.context.is_none()
    }

    fn encode(&self, _: &mut dyn BufMut) {}

    fn size(&self) -> usize {
        0
    }

    fn clamp_allocated_size(&self) -> Arc<dyn Filter> {
        Arc::new(self.clone())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_policies_are_asked_as_by_a_plain_get() {
    let store = Arc::new(InMemory::new());
    let elastic = ElasticFilters::builder().start();
    let settings = Settings { min_filter_keys: 0, ..Settings::default() };
    let policies: Vec<Arc<dyn FilterPolicy>> =
        vec![Arc::new(NothingInContext), elastic.policy(PATH, store.clone())];
    let db = Db::builder(PATH, store).with_settings(settings).with_filter_policies(policies);
    let db = db.build().await.expect("it opens");
    db.put(key(0), b"value").await.expect("the store works");
    flush(&db).await;
    let with_context = ReadOptions::default().with_filter_context(Some(FilterContext::Inline([0; 64])));
    for (options, is_found) in [(ReadOptions::default(), true), (with_context, false)] {
        let found = db.get_with_options(key(0), &options).await.expect("the store works");
        assert_eq!(found.is_some(), is_found, "{options:?}");
        let told = elastic.get_with_options(&db, key(0), &options).await.expect("the store works");
        assert_eq!(told, found, "{options:?}");
    }
    db.close().await.expect("the store works");
}

/// A read that is dropped teaches nothing, and leaves nothing behind.
#[tokio::test(flavor = "multi_thread")]
async fn dropped_reads_are_forgotten() {
    let meter = Meter::new(Arc::new(InMemory::new()));
    written(&meter, false).await;
    let elastic = ElasticFilters::builder().budget_bytes(100_000).start();
    let db = open(&meter, &elastic, false).await;
    meter.delay_micros.store(20_000, std::sync::atomic::Ordering::Relaxed);
    let mut ended = 0;
    for number in 0..20 {
        let read = elastic.get(&db, key(100 * number));
        ended += u64::from(tokio::time::timeout(Duration::from_millis(5), read).await.is_ok());
    }
    let outcomes = elastic.stats().outcomes;
    assert!(ended < 20, "no read was dropped");
    assert_eq!(outcomes.true_positives, ended, "{outcomes:?}");
    db.close().await.expect("the store works");
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_within_a_prefix_ask_for_the_prefix() {
    let meter = Meter::new(Arc::new(InMemory::new()));
    written(&meter, true).await;
    let elastic = ElasticFilters::builder().budget_bytes(1 << 20).start();
    let db = open(&meter, &elastic, true).await;
    let prefix = |number: u32| format!("{:08x}/", number.wrapping_mul(2_654_435_761));
    let scan = async |number: u32, kind: u32| {
        let prefix = prefix(number);
        let bytes = |end: &str| Bytes::from(format!("{prefix}{end}"));
        let after = Bytes::from(prefix.replace('/', "0"));
        let bounds = match kind {
            // All keys with the prefix, as SlateDB's own scans of prefixes name them.
            0 => (Bound::Included(bytes("")), Bound::Excluded(after)),
            1 => (Bound::Included(bytes("")), Bound::Included(bytes("~"))),
            _ => (Bound::Excluded(bytes("")), Bound::Excluded(bytes("~"))),
        };
        let mut found = db.scan(bounds).await.expect("the store works");
        found.next().await.expect("the store works").is_some()
    };
    for number in 0..3000 {
        assert_eq!(scan(number, number % 3).await, number % 2 == 0, "{number}");
    }
    assert!(elastic.wait_idle(Duration::from_secs(30)).await);
    let before = elastic.stats().outcomes;
    for number in (3001..6000).step_by(2) {
        assert!(!scan(number, number % 3).await, "{number}");
    }
    let outcomes = elastic.stats().outcomes;
    let (rejected, visits) = (outcomes.rejected - before.rejected, outcomes.visits() - before.visits());
    assert!(rejected > visits * 9 / 10 && visits >= 1400, "{rejected} of {visits}");

    // Bounds without a prefix in common are answered by the tables.
    let before = elastic.stats().outcomes.visits();
    let mut all = db.scan(..).await.expect("the store works");
    let mut count = 0;
    while all.next().await.expect("the store works").is_some() {
        count += 1;
    }
    assert_eq!((count, elastic.stats().outcomes.visits()), (KEYS, before));
    db.close().await.expect("the store works");
}
