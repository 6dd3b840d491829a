//! The same files under several readers: read-only, secondary, and stock next to elastic.

use rocksdb::DB;
use springbloom_rocksdb::listed_tables;

use crate::common::{
    ample,
    contents::{check_db, check_db_filtered, fill_db, fill_family},
    folder, installed, small_tree,
    unsafe_calls::is_from,
};

#[test]
fn a_read_only_database_has_filters() {
    let (folder, elastic) = (folder(), ample());
    let options = installed(&elastic, &small_tree());
    fill_db(&DB::open(&options, folder.path()).expect("open"), "read only");
    let db = DB::open_for_read_only(&options, folder.path(), true).expect("open");
    check_db_filtered(&elastic, &db, "read only");
    db.put("a", "b").expect_err("read only");
    // Opened twice at once: one table, two readers.
    let again = DB::open_for_read_only(&options, folder.path(), true).expect("open");
    check_db_filtered(&elastic, &again, "read only");
    drop(db);
    check_db_filtered(&elastic, &again, "read only");
}

#[test]
fn a_secondary_follows_its_primary() {
    for shared_budget in [true, false] {
        let (folder, elastic) = (folder(), ample());
        let secondary_elastic = if shared_budget { elastic.clone() } else { ample() };
        let (primary_path, secondary_path) = (folder.path().join("primary"), folder.path().join("secondary"));
        let primary = DB::open(&installed(&elastic, &small_tree()), &primary_path).expect("open");
        fill_db(&primary, "first");
        let mut options = small_tree();
        // A secondary must hold files that the primary may delete.
        options.set_max_open_files(-1);
        let secondary =
            DB::open_as_secondary(&installed(&secondary_elastic, &options), &primary_path, &secondary_path)
                .expect("open");
        let check_secondary = |tag| {
            if is_from((11, 8, 1)) {
                check_db_filtered(&secondary_elastic, &secondary, tag);
            } else {
                check_db(&secondary, tag); // its tables are read without filters
            }
        };
        check_secondary("first");
        fill_db(&primary, "second");
        primary.compact_range(None::<&[u8]>, None::<&[u8]>);
        check_secondary("first");
        secondary.try_catch_up_with_primary().expect("catch up");
        check_secondary("second");
        check_db_filtered(&elastic, &primary, "second");
    }
}

#[test]
fn the_tables_on_disk_are_those_that_the_open_database_knows() {
    let (folder, elastic) = (folder(), ample());
    let options = installed(&elastic, &small_tree());
    let mut db = DB::open_cf(&options, folder.path(), ["default", "kept", "dropped"]).expect("open");
    let agree = |db: &DB| {
        let listed = listed_tables::of_database(folder.path()).expect("it may be in use");
        let mut listed: Vec<_> = (listed.iter())
            .map(|table| (table.column_family.to_string(), table.level, table.file_name()))
            .collect();
        let known = db.live_files().expect("live_files").into_iter();
        let mut known: Vec<_> = known
            .map(|file| (file.column_family_name, file.level, file.name.trim_start_matches('/').into()))
            .collect();
        listed.sort();
        known.sort();
        assert_eq!(listed, known);
        listed.len()
    };
    assert_eq!(agree(&db), 0);
    for round in 0..3 {
        fill_db(&db, "listed");
        for name in ["kept", "dropped"] {
            let Some(family) = db.cf_handle(name) else { continue };
            fill_family(&db, &family, "listed");
        }
        db.wait_for_compact(&rocksdb::WaitForCompactOptions::default()).expect("compaction");
        assert!(agree(&db) > 0);
        match round {
            0 => db.compact_range(None::<&[u8]>, None::<&[u8]>),
            1 => db.drop_cf("dropped").expect("drop"),
            _ => {}
        }
        agree(&db);
    }
    drop(db);
    // A new MANIFEST.
    let db = DB::open_cf(&options, folder.path(), ["default", "kept"]).expect("open");
    assert!(agree(&db) > 0);
}
