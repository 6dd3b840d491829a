//! Memory of the process. The only test of its program: others would add to it.

mod support;

use std::sync::Arc;

use slatedb::{Db, FilterPolicy, Settings, WriteBatch, object_store::memory::InMemory};
use springbloom_slatedb::ElasticFilters;
use support::flush;

const LOOKUPS: u64 = 30_000;

fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("Linux has it");
    let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.expect("the second is a number") * 4096
}

/// Where SlateDB has no cache, each lookup makes a filter of each table.
#[tokio::test(flavor = "multi_thread")]
async fn lookups_without_a_cache_leave_no_memory_behind() {
    let store = Arc::new(InMemory::new());
    let elastic = ElasticFilters::builder().budget_bytes(1 << 20).start();
    let policy: Arc<dyn FilterPolicy> = elastic.policy("db", store.clone());
    let settings = Settings { compactor_options: None, min_filter_keys: 10, ..Settings::default() };
    let db = Db::builder("db", store).with_filter_policies(vec![policy]).with_settings(settings);
    let db = db.with_db_cache_disabled().build().await.expect("it opens");
    for table in 0..4u64 {
        let mut batch = WriteBatch::new();
        (0..3000).for_each(|n| batch.put((8 * n + 2 * table).to_be_bytes(), b"value"));
        db.write(batch).await.expect("the store works");
        flush(&db).await;
    }
    let look_up = async || {
        for number in 0..LOOKUPS {
            let absent = (2 * (number % 12_000) + 1).to_be_bytes();
            assert_eq!(db.get(absent).await.expect("the store works"), None);
        }
    };
    look_up().await;
    let (before, visits) = (resident_bytes(), elastic.stats().outcomes.visits());
    for _ in 0..3 {
        look_up().await;
    }
    let grown = resident_bytes().saturating_sub(before);
    let visits = elastic.stats().outcomes.visits() - visits;
    assert!(visits > 3 * LOOKUPS, "{visits} questions");
    // 24 bytes for each filter that was made were 8 MiB.
    assert!(grown < 4 << 20, "{grown} bytes in {visits} questions");
    assert_eq!(elastic.stats().tables, 4);
}
