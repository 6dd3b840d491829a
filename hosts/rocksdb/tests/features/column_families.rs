//! Column families and databases that share one budget.

use rocksdb::{ColumnFamilyDescriptor, DB, Options};
use springbloom_rocksdb::{ElasticFilters, FamilyStats, LevelUnits};

use crate::common::{
    IDLE_TIMEOUT, ample,
    contents::{NUMBERS, check, check_db_filtered, check_family, fill_db, fill_family, rejections},
    folder, has_passed_alone, installed, small_tree,
    unsafe_calls::{disable_file_deletions, enable_file_deletions, is_from},
    wait_until,
};

const FAMILIES: [&str; 4] = ["default", "first", "second", "third"];

fn open(options: &Options, path: &std::path::Path) -> DB {
    DB::open_cf_descriptors(
        options,
        path,
        FAMILIES.map(|name| ColumnFamilyDescriptor::new(name, options.clone())),
    )
    .expect("open")
}

#[test]
fn column_families_share_one_manager_keep_their_keys_apart_and_are_forgotten_when_dropped() {
    let (folder, elastic) = (folder(), ample());
    let mut db = open(&installed(&elastic, &small_tree()), folder.path());
    for name in FAMILIES {
        fill_family(&db, db.cf_handle(name).expect("open"), name);
    }
    // Before lookups: RocksDB keeps the inputs of a compaction that ended during a lookup until it has other files to delete.
    db.wait_for_compact(&rocksdb::WaitForCompactOptions::default()).expect("compaction");
    for name in FAMILIES {
        let rejections = rejections(&elastic, || check_family(&db, db.cf_handle(name).expect("open"), name));
        assert!(rejections > 0, "{name}");
    }
    let knows_live_tables = |db: &DB| elastic.stats().tables == db.live_files().expect("live_files").len();
    wait_until("the manager knows the live tables and no others", || knows_live_tables(&db));
    // While compactions run.
    for name in FAMILIES {
        fill_family(&db, db.cf_handle(name).expect("open"), name);
    }
    for name in &FAMILIES[1..] {
        db.drop_cf(name).expect("drop_cf");
    }
    // Not compared with the folder: RocksDB leaves outputs of compactions that the drop cut short there for a while. Older releases leave
    // them open, too.
    if is_from((11, 8, 1)) {
        wait_until("only tables of the default column family are known", || knows_live_tables(&db));
    }
    check_db_filtered(&elastic, &db, "default");
}

#[test]
fn a_family_without_filters_lives_beside_one_with() {
    let (folder, elastic) = (folder(), ample());
    let families = [
        ColumnFamilyDescriptor::new("default", installed(&elastic, &small_tree())),
        ColumnFamilyDescriptor::new("stock", small_tree()),
    ];
    let db = DB::open_cf_descriptors(&small_tree(), folder.path(), families).expect("open");
    for name in ["default", "stock"] {
        fill_family(&db, db.cf_handle(name).expect("open"), name);
    }
    assert!(
        rejections(&elastic, || check_family(&db, db.cf_handle("default").expect("open"), "default")) > 0
    );
    assert_eq!(rejections(&elastic, || check_family(&db, db.cf_handle("stock").expect("open"), "stock")), 0);
}

#[test]
fn metrics_tell_databases_and_column_families_apart() {
    let elastic = ample();
    let options = installed(&elastic, &small_tree());
    let folders = [folder(), folder()];
    let databases = [open(&options, folders[0].path()), open(&options, folders[1].path())];
    for name in FAMILIES {
        fill_family(&databases[0], databases[0].cf_handle(name).expect("open"), name);
    }
    fill_db(&databases[1], "second database");
    databases[0].wait_for_compact(&rocksdb::WaitForCompactOptions::default()).expect("compaction");
    // Before the batch of this thread is full: where the maintenance thread gets no core, one visit would stand for some.
    let lookups = std::cell::Cell::new(0);
    let rest = || {
        if lookups.replace(lookups.get() + 1_u32).is_multiple_of(16) {
            assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest");
        }
    };
    let third = databases[0].cf_handle("third").expect("open");
    let get_third = |key: &[u8]| {
        rest();
        databases[0].get_cf(third, key).expect("get")
    };
    let get_second = |key: &[u8]| {
        rest();
        databases[1].get(key).expect("get")
    };
    check(NUMBERS, get_third, "third");
    check(NUMBERS, get_second, "second database");
    assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest");
    let paths = folders.each_ref().map(|folder| folder.path().to_str().expect("a path").to_owned());
    let mut expected: Vec<_> = FAMILIES.map(|family| (&*paths[0], family)).to_vec();
    expected.push((&*paths[1], "default"));
    expected.sort_unstable();
    let (families, stats) = (elastic.families(), elastic.stats());
    let names: Vec<_> = families.iter().map(|family| (&*family.database, &*family.family)).collect();
    assert_eq!(names, expected);
    assert_eq!(families.iter().map(|family| family.tables).sum::<usize>(), stats.tables);
    let bytes = |levels: &[LevelUnits]| levels.iter().map(|level| level.unit_bytes).sum::<usize>();
    assert_eq!(families.iter().map(|family| bytes(&family.levels)).sum::<usize>(), bytes(&stats.levels));
    assert_eq!(families.iter().map(|family| family.counts.loads).sum::<u64>(), stats.loads);
    assert_eq!((stats.sampled_one_in, stats.dropped_visits), (1, 0));
    let of = |database: usize, family: &str| {
        let is_it = |stats: &&FamilyStats| stats.database == paths[database] && stats.family == family;
        families.iter().find(is_it).expect("it has tables").counts
    };
    let asked = [of(0, "third"), of(1, "default")];
    assert!(asked.iter().all(|counts| counts.rejected > 100 && counts.passed > 100), "{asked:?}");
    let idle = ["default", "first", "second"].map(|family| of(0, family));
    assert!(idle.iter().all(|counts| counts.rejected + counts.wasted_reads == 0), "{idle:?}");
    let seen: u64 = asked.iter().map(|counts| counts.visits()).sum();
    assert_eq!(seen, stats.outcomes.visits(), "{asked:?}");
    let text = elastic.metrics_text();
    let line = format!(
        "springbloom_family_visits_total{{database={:?},family=\"third\",outcome=\"rejected\"}}",
        paths[0]
    );
    assert!(text.contains(&format!("{line} {}\n", asked[0].rejected)), "no {line} in\n{text}");
    drop(databases);
    assert_eq!(elastic.families(), []);
}

#[test]
fn databases_share_one_budget_and_come_and_go() {
    let elastic = ample();
    let options = installed(&elastic, &small_tree());
    let folders = [folder(), folder(), folder()];
    let tags = ["a", "b", "c"];
    let mut databases: Vec<_> =
        folders.iter().map(|folder| DB::open(&options, folder.path()).expect("open")).collect();
    for (db, tag) in databases.iter().zip(tags) {
        fill_db(db, tag);
    }
    for (db, tag) in databases.iter().zip(tags) {
        check_db_filtered(&elastic, db, tag);
        db.wait_for_compact(&rocksdb::WaitForCompactOptions::default()).expect("compaction");
    }
    let tables_of_all = elastic.stats().tables;
    drop(databases.remove(1));
    let live: usize = databases.iter().map(|db| db.live_files().expect("live_files").len()).sum();
    assert!(live < tables_of_all);
    // Tables that compactions deleted are found missing a moment later.
    wait_until("a closed database holds nothing of the budget", || elastic.stats().tables == live);
    for (db, tag) in databases.iter().zip(["a", "c"]) {
        check_db_filtered(&elastic, db, tag);
    }
    databases.push(DB::open(&options, folders[1].path()).expect("open"));
    check_db_filtered(&elastic, &databases[2], "b");
}

/// While deletions are held back, as by a backup, readers of a dropped column family stay open, and what RocksDB lent them is gone. In a
/// process of its own, where freed memory is overwritten, so that a later use does not find what was there.
#[test]
fn tables_that_found_no_room_outlive_their_column_family() {
    if has_passed_alone(tables_that_found_no_room_outlive_their_column_family, &[("MALLOC_PERTURB_", "165")])
    {
        return;
    }
    let folder = folder();
    let elastic = ElasticFilters::builder().budget_bytes(0).build().expect("build");
    let mut options = small_tree();
    // Before 11.8 RocksDB keeps readers of a compaction's tables that the drop aborts.
    options.set_disable_auto_compactions(true);
    let options = installed(&elastic, &options);
    let mut db = DB::open(&options, folder.path()).expect("open");
    for _ in 0..3 {
        db.create_cf("dropped", &options).expect("create_cf");
        let family = db.cf_handle("dropped").expect("open");
        fill_family(&db, family, "dropped");
        db.flush_cf(family).expect("flush");
        check_family(&db, family, "dropped");
        disable_file_deletions(&db).expect("disable_file_deletions");
        db.drop_cf("dropped").expect("drop_cf");
        elastic.set_budget_bytes(1 << 20).expect("set_budget_bytes");
        wait_until("the tables are tried again", || elastic.stats().tables > 0);
        enable_file_deletions(&db).expect("enable_file_deletions");
        wait_until("nothing is known of the dropped tables", || elastic.stats().tables == 0);
        elastic.set_budget_bytes(0).expect("set_budget_bytes");
    }
}
