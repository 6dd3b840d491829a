//! The hotness that a table which a compaction writes starts with.

use rocksdb::DB;
use springbloom_published_policies::PolicyKind;
use springbloom_rocksdb::{ElasticFilters, usage::Usage};

use crate::common::{
    AMPLE_BYTES, IDLE_TIMEOUT,
    contents::{check_db, fill_db},
    folder, installed, small_tree, stock,
    tables::table_paths,
    wait_until,
};

/// Visits that all tables stand for after a compaction has rewritten them.
fn visits_after_a_compaction(inherit_hotness: bool) -> f32 {
    let elastic = ElasticFilters::builder()
        .budget_bytes(AMPLE_BYTES)
        .inherit_hotness(inherit_hotness)
        // Gives a table that inherits nothing no use.
        .build_with(PolicyKind::MultiQueue.policy(None))
        .expect("the settings are sound");
    let folder = folder();
    let db = DB::open(&installed(&elastic, &small_tree()), folder.path()).expect("open");
    fill_db(&db, "hot");
    check_db(&db, "hot");
    assert!(elastic.wait_idle(IDLE_TIMEOUT), "all visits are learned");
    stock::rewrite(&db);
    wait_until("only the new tables are known", || {
        elastic.stats().tables == db.live_files().expect("live_files").len()
    });
    drop(db);
    // Without any use there is nothing to write when the database closes.
    let Some(usage) = Usage::of_folder(folder.path()).expect("sound") else { return 0.0 };
    let tables = table_paths(folder.path()).into_iter().map(|path| {
        let table = usage.of_table(&path).expect("sound").expect("it has units");
        table.segments.iter().map(|segment| segment.remembered.hotness.access_count).sum::<f32>()
    });
    tables.sum()
}

#[test]
fn the_output_of_a_compaction_inherits_hotness_unless_that_is_off() {
    assert!(visits_after_a_compaction(true) > 0.0);
    assert_eq!(visits_after_a_compaction(false), 0.0);
}
