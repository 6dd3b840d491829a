//! Databases that are copied: checkpoints, backups, plain files, repair.

use rocksdb::{
    DB,
    backup::{BackupEngine, BackupEngineOptions, RestoreOptions},
    checkpoint::Checkpoint,
};

use crate::common::{
    ample,
    contents::{check_db, check_db_filtered, fill_db},
    copy_files, folder, installed, small_tree, stock, tables,
};

#[test]
fn a_checkpoint_and_files_that_are_copied_are_other_databases_with_filters() {
    for is_checkpoint in [true, false] {
        let (folder, elastic) = (folder(), ample());
        let options = installed(&elastic, &small_tree());
        let [original, copy] = ["db", "copy"].map(|name| folder.path().join(name));
        let mut db = DB::open(&options, &original).expect("open");
        fill_db(&db, "original");
        if is_checkpoint {
            Checkpoint::new(&db).expect("checkpoint").create_checkpoint(&copy).expect("create_checkpoint");
        } else {
            drop(db);
            copy_files(&original, &copy);
            db = DB::open(&options, &original).expect("open");
        }
        // Hard links to the same tables: the copy must not share the original's fate, nor the other way round.
        fill_db(&db, "changed");
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
        let copied = DB::open(&options, &copy).expect("open the copy");
        check_db_filtered(&elastic, &copied, "original");
        fill_db(&copied, "copy");
        check_db_filtered(&elastic, &db, "changed");
        check_db_filtered(&elastic, &copied, "copy");
        drop(copied);
        let stock_db = DB::open(&small_tree(), &copy).expect("stock opens the copy");
        stock::verify_checksums(&stock_db).expect("checksums");
        check_db(&stock_db, "copy");
    }
}

#[test]
fn a_backup_restores_elsewhere_and_in_place() {
    let (folder, elastic) = (folder(), ample());
    let options = installed(&elastic, &small_tree());
    let original = folder.path().join("db");
    let environment = rocksdb::Env::new().expect("environment");
    let backups = BackupEngineOptions::new(folder.path().join("backups")).expect("backup options");
    let mut engine = BackupEngine::open(&backups, &environment).expect("backup engine");
    {
        let db = DB::open(&options, &original).expect("open");
        fill_db(&db, "original");
        engine.create_new_backup_flush(&db, true).expect("backup");
        // Tables after the backup: in place, their numbers will be given out again.
        fill_db(&db, "changed");
        check_db_filtered(&elastic, &db, "changed");
    }
    engine.verify_backup(engine.get_backup_info()[0].backup_id).expect("the backup is whole");
    for place in [folder.path().join("elsewhere"), original] {
        engine.restore_from_latest_backup(&place, &place, &RestoreOptions::default()).expect("restore");
        let db = DB::open(&options, &place).expect("open");
        check_db_filtered(&elastic, &db, "original");
        fill_db(&db, "again");
        check_db_filtered(&elastic, &db, "again");
    }
}

#[test]
fn a_database_made_anew_in_the_same_place_has_nothing_of_the_old_one() {
    let (folder, elastic) = (folder(), ample());
    let options = installed(&elastic, &small_tree());
    for round in ["first", "second", "third"] {
        let db = DB::open(&options, folder.path()).expect("open");
        fill_db(&db, round);
        check_db_filtered(&elastic, &db, round);
        db.put(format!("only {round}"), "x").expect("put");
        drop(db);
        DB::destroy(&options, folder.path()).expect("destroy");
    }
}

#[test]
fn repair_keeps_the_answers_and_the_filters() {
    let (folder, elastic) = (folder(), ample());
    let options = installed(&elastic, &small_tree());
    drop({
        let db = DB::open(&options, folder.path()).expect("open");
        fill_db(&db, "repaired");
        db.put("in the log", "only").expect("put");
        db
    });
    for entry in std::fs::read_dir(folder.path()).expect("list") {
        let path = entry.expect("list").path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("MANIFEST")) {
            std::fs::remove_file(path).expect("remove");
        }
    }
    assert!(DB::open(&options, folder.path()).is_err(), "without its manifest the database is broken");
    DB::repair(&options, folder.path()).expect("repair");
    let db = DB::open(&options, folder.path()).expect("open");
    check_db_filtered(&elastic, &db, "repaired");
    assert_eq!(db.get("in the log").expect("get").as_deref(), Some(&b"only"[..]));
    stock::verify_checksums(&db).expect("checksums");
    assert!(tables::with_and_without_units(folder.path()).0 > 0);
}
