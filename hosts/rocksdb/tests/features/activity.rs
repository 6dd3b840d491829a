//! Filters that were installed and do nothing: the status tells, and so does the log.

use rocksdb::{BlockBasedOptions, DB, Options};
use springbloom_rocksdb::FamilyStatus;

use crate::common::{
    Folder, ample,
    contents::{check_db, fill_db},
    folder, installed, log_of, metric, small_tree, wait_until,
};

#[test]
fn whether_filters_are_in_use_can_be_asked() {
    let (folder, elastic, other) = (folder(), ample(), ample());
    let options = installed(&elastic, &small_tree());
    {
        let stock = DB::open(&small_tree(), folder.path()).expect("open");
        fill_db(&stock, "stock");
        let status = elastic.status(&stock).expect("status");
        assert!(
            !status.is_active && status.tables_with_units == 0 && status.tables_without_units > 0,
            "{status:?}"
        );
    }
    let mut db = DB::open(&options, folder.path()).expect("open");
    let status = elastic.status(&db).expect("status");
    assert!(
        status.is_active && status.tables_with_units == 0 && status.tables_without_units > 0,
        "{status:?}"
    );
    assert!(!other.status(&db).expect("status").is_active, "another instance's");
    check_db(&db, "stock");
    let opened = metric(&elastic.metrics_text(), "springbloom_tables_without_units_total");
    assert_eq!(opened, elastic.tables_without_units());
    assert!(opened > 0);
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    fill_db(&db, "ours");
    let before = elastic.status(&db).expect("status");
    assert!(before.tables_with_units > 0, "{before:?}");
    let log = log_of(folder.path());
    for line in ["filter units are in use: budget 16777216 bytes, units ribbon:16", "has no filter units"] {
        assert!(log.contains(line), "no {line} in the log");
    }
    // Another column family, with stock filters.
    db.create_cf("stock", &small_tree()).expect("create");
    let family = db.cf_handle("stock").expect("there it is");
    assert_eq!(elastic.status_cf(&db, family).expect("status"), FamilyStatus::default());
}

#[test]
fn a_table_factory_that_was_set_after_install_is_told_of() {
    type Spoil = fn(&mut Options);
    let spoilers: [(&str, Spoil); 2] = [
        ("set_block_based_table_factory", |options| {
            options.set_block_based_table_factory(&BlockBasedOptions::default());
        }),
        ("optimize_for_point_lookup", |options| {
            options.optimize_for_point_lookup(8);
        }),
    ];
    for (what, spoil) in spoilers {
        let (folder, elastic) = (folder(), ample());
        let mut options = installed(&elastic, &small_tree());
        spoil(&mut options);
        let db = DB::open(&options, folder.path()).expect("open");
        fill_db(&db, "spoilt");
        assert!(!elastic.status(&db).expect("status").is_active, "{what}");
        assert!(log_of(folder.path()).contains("was written without filter units"), "{what}");
        let written = metric(&elastic.metrics_text(), "springbloom_tables_written_without_units_total");
        assert!(written > 0, "{what}");
    }
}

#[test]
fn an_option_string_does_not_pretend_to_move_a_budget_that_the_program_gave() {
    let (folder, elastic) = (folder(), ample());
    let db = DB::open(&installed(&elastic, &small_tree()), folder.path()).expect("open");
    let refused = db.set_options(&[("table_factory.budget", "1M")]).expect_err("it has no effect");
    assert!(refused.to_string().contains("installed by the program"), "{refused}");
    db.set_options(&[("table_factory.block_size", "8192")]).expect("what is RocksDB's is changed");
    assert!(elastic.status(&db).expect("status").is_active);
}

#[test]
fn options_that_change_what_is_filtered_are_told_of() {
    let (folder, elastic) = (folder(), ample());
    let mut options = installed(&elastic, &small_tree());
    options.set_prefix_extractor(rocksdb::SliceTransform::create_fixed_prefix(4));
    options.set_optimize_filters_for_hits(true);
    let db = DB::open(&options, folder.path()).expect("open");
    fill_db(&db, "told of");
    let log = log_of(folder.path());
    assert!(log.contains("springbloom: prefix_extractor is set"));
    assert!(log.contains("springbloom: optimize_filters_for_hits is set"));
    // All is in the last level then, where this option writes no filters.
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    let status = elastic.status(&db).expect("status");
    assert!(status.tables_with_units == 0 && status.tables_without_units > 0, "{status:?}");
}

/// Programs in C++ and Java have no logger of Rust.
#[test]
fn warnings_reach_the_log_of_every_open_database() {
    let (folders, elastic) = ([folder(), folder()], ample());
    let options = installed(&elastic, &small_tree());
    let open = |folder: &Folder| DB::open(&options, folder.path()).expect("open");
    let databases = [open(&folders[0]), open(&folders[1])];
    databases.iter().for_each(|db| fill_db(db, "warned"));
    elastic.set_budget_bytes(100).expect("a budget");
    for folder in &folders {
        wait_until("the warning is in the log", || {
            let log = log_of(folder.path());
            let mut lines = log.lines();
            lines.any(|line| {
                line.contains("[WARN]") && line.contains("budget of 100 bytes is less than what stays")
            })
        });
    }
    drop(databases);
}
