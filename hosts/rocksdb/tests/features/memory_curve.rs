//! What is promised for other budgets, by open databases and from their files.

use rocksdb::DB;
use springbloom_rocksdb::{ElasticFilters, UnitSettings, usage::Usage};

use crate::common::{
    AMPLE_BYTES, IDLE_TIMEOUT, build,
    contents::{fill_db, key},
    folder, installed, small_tree,
    tables::table_paths,
    wait_until,
};

#[test]
fn the_curve_from_disk_is_the_live_one() {
    let folder = folder();
    // Units that let most absent keys pass.
    let units = UnitSettings::bloom(1, 1).expect("sound");
    let elastic = build(ElasticFilters::builder().budget_bytes(AMPLE_BYTES).units(units));
    let db = DB::open(&installed(&elastic, &small_tree()), folder.path()).expect("open");
    fill_db(&db, "remembered");
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    // How visits end is measured now and then, by thousands of them.
    for _ in 0..100 {
        (0..200).for_each(|number| assert_eq!(db.get(key(2 * number + 1)).expect("get"), None));
        assert!(elastic.wait_idle(IDLE_TIMEOUT));
    }
    wait_until("only live tables are known", || {
        elastic.stats().tables == db.live_files().expect("live_files").len()
    });
    let budget_bytes = elastic.stats().budget_bytes as u64;
    let live = elastic.memory_curve().wasted_reads_per_visit(budget_bytes);
    drop(db);
    let usage = Usage::of_folder(folder.path()).expect("sound").expect("written when the database closed");
    assert!(usage.wasted_reads_seen() > 1000, "{usage:?}");
    let tables: Vec<_> = table_paths(folder.path())
        .iter()
        .filter_map(|path| usage.of_table(path).expect("a table can be read"))
        .collect();
    let stored = usage.memory_curve(&tables).wasted_reads_per_visit(budget_bytes);
    let ratio = stored / live;
    assert!((0.98..1.02).contains(&ratio), "{stored} of {live}");
}
