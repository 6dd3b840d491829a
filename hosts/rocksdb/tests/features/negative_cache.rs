//! Keys that lookups found to be absent from a table: remembered when that is certain, and only then.

use rocksdb::{DB, IngestExternalFileOptions, ReadOptions, ReadTier, SstFileWriter};
use springbloom_rocksdb::{ElasticFilters, UnitSettings, usage::Usage};

use crate::common::{
    AMPLE_BYTES, IDLE_TIMEOUT,
    contents::{NUMBERS, check_db, fill_db, key},
    folder, installed, small_tree,
    tables::table_paths,
    unsafe_calls::is_from,
    wait_until,
};

/// Units that let most absent keys pass.
fn leaky() -> ElasticFilters {
    ElasticFilters::builder()
        .budget_bytes(AMPLE_BYTES)
        .units(UnitSettings::bloom(1, 1).expect("sound"))
        .build()
        .expect("the settings are sound")
}

/// Known absences that lookups met while `run` ran, and wasted reads.
fn met(elastic: &ElasticFilters, run: impl FnOnce()) -> (u64, u64) {
    let before = elastic.stats().outcomes;
    run();
    let after = elastic.stats().outcomes;
    (after.known_absent - before.known_absent, after.wasted_reads - before.wasted_reads)
}

/// Looks absent keys up twice: the first time they waste reads, the second time they are known. Gives how many wasted one.
fn look_up_twice(elastic: &ElasticFilters, db: &DB, absent: &[Vec<u8>]) -> u64 {
    let look_up = || absent.iter().for_each(|key| assert_eq!(db.get(key).expect("get"), None));
    let (known, wasted) = met(elastic, look_up);
    assert_eq!(known, 0);
    assert!(wasted > 100, "units of one bit let more pass than {wasted}");
    // A set whose entries all earned points may have turned some away.
    let (known, still_wasted) = met(elastic, look_up);
    assert!(known >= wasted * 9 / 10, "{known} known of {wasted}, {still_wasted} wasted again");
    wasted
}

#[test]
fn a_key_that_is_absent_wastes_one_read_per_table() {
    if !is_from((9, 7, 0)) {
        return; // tables do not say how new their entries are
    }
    let (folder, elastic) = (folder(), leaky());
    let db = DB::open(&installed(&elastic, &small_tree()), folder.path()).expect("open");
    fill_db(&db, "first");
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert!(elastic.wait_idle(IDLE_TIMEOUT));
    let absent: Vec<_> = (0..200).map(|number| key(2 * number + 1)).collect();
    let wasted = look_up_twice(&elastic, &db, &absent);
    let (known_in_batch, _) = met(&elastic, || {
        assert!(db.multi_get(&absent).into_iter().all(|got| got.expect("multi_get").is_none()));
    });
    assert!(known_in_batch >= wasted * 9 / 10, "{known_in_batch} of {wasted}");
    // What comes later lies in other tables.
    absent.iter().for_each(|key| db.put(key, b"now here").expect("put"));
    db.flush().expect("flush");
    absent.iter().for_each(|key| assert_eq!(db.get(key).expect("get").as_deref(), Some(&b"now here"[..])));
}

#[test]
fn readers_that_never_write_remember_absent_keys_too() {
    if !is_from((11, 8, 1)) {
        return; // a secondary has no filters there
    }
    let (folder, elastic) = (folder(), leaky());
    let mut options = small_tree();
    options.set_max_open_files(-1);
    let db = DB::open(&installed(&elastic, &options), folder.path()).expect("open");
    fill_db(&db, "read by others");
    let absent: Vec<_> = (0..200).map(|number| key(2 * number + 1)).collect();
    let secondary_path = folder.path().join("secondary");
    for is_secondary in [false, true] {
        let others = leaky();
        let options = installed(&others, &options);
        let reader = match is_secondary {
            false => DB::open_for_read_only(&options, folder.path(), false).expect("open"),
            true => DB::open_as_secondary(&options, folder.path(), &secondary_path).expect("open"),
        };
        assert!(others.wait_idle(IDLE_TIMEOUT));
        look_up_twice(&others, &reader, &absent);
        check_db(&reader, "read by others");
    }
    // What the primary writes later, the secondary finds, although it was absent.
    let others = leaky();
    let secondary =
        DB::open_as_secondary(&installed(&others, &options), folder.path(), &secondary_path).expect("open");
    absent.iter().for_each(|key| assert_eq!(secondary.get(key).expect("get"), None));
    absent.iter().for_each(|key| db.put(key, b"now here").expect("put"));
    db.flush().expect("flush");
    secondary.try_catch_up_with_primary().expect("catch up");
    absent.iter().for_each(|key| {
        assert_eq!(secondary.get(key).expect("get").as_deref(), Some(&b"now here"[..]));
    });
}

#[test]
fn the_curve_from_disk_knows_of_absences_as_the_live_one_does() {
    if !is_from((9, 7, 0)) {
        return; // as above
    }
    let (folder, elastic) = (folder(), leaky());
    let db = DB::open(&installed(&elastic, &small_tree()), folder.path()).expect("open");
    fill_db(&db, "remembered");
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    let absent: Vec<_> = (0..200).map(|number| key(2 * number + 1)).collect();
    // The share of known absences is measured now and then, by thousands of visits.
    for _ in 0..100 {
        absent.iter().for_each(|key| assert_eq!(db.get(key).expect("get"), None));
        assert!(elastic.wait_idle(IDLE_TIMEOUT));
    }
    wait_until("only live tables are known", || {
        elastic.stats().tables == db.live_files().expect("live_files").len()
    });
    let budget_bytes = elastic.stats().budget_bytes as u64;
    let live = elastic.memory_curve().wasted_reads_per_visit(budget_bytes);
    drop(db);
    let usage = Usage::of_folder(folder.path()).expect("sound").expect("written when the database closed");
    let tables: Vec<_> = table_paths(folder.path())
        .iter()
        .filter_map(|path| usage.of_table(path).expect("a table can be read"))
        .collect();
    let stored = usage.memory_curve(&tables).wasted_reads_per_visit(budget_bytes);
    let ratio = stored / live;
    assert!((0.98..1.02).contains(&ratio), "{stored} of {live}");
    assert!(live < 0.5, "most absences are known: {live}");
}

#[test]
fn what_a_snapshot_does_not_see_is_not_absent() {
    let (folder, elastic) = (folder(), leaky());
    let db = DB::open(&installed(&elastic, &small_tree()), folder.path()).expect("open");
    db.put("before", "x").expect("put");
    let snapshot = db.snapshot();
    fill_db(&db, "after");
    for n in (0..NUMBERS).step_by(2) {
        assert_eq!(snapshot.get(key(n)).expect("get"), None);
    }
    let keys: Vec<_> = (0..NUMBERS).step_by(2).map(key).collect();
    assert!(snapshot.multi_get(&keys).into_iter().all(|got| got.expect("multi_get").is_none()));
    check_db(&db, "after");
    drop(snapshot);
    check_db(&db, "after");
}

#[test]
fn a_lookup_in_the_block_cache_alone_proves_nothing() {
    let (folder, elastic) = (folder(), leaky());
    let db = DB::open(&installed(&elastic, &small_tree()), folder.path()).expect("open");
    fill_db(&db, "cached");
    for number in 0..NUMBERS {
        let mut memory_only = ReadOptions::default();
        memory_only.set_read_tier(ReadTier::BlockCache);
        let _ = db.get_opt(key(number), &memory_only); // "incomplete", mostly
        let _ = db.key_may_exist(key(number));
    }
    check_db(&db, "cached");
}

/// Ingests every second key into a database that has the others, and looks them up from before and after, once `ready` is through.
fn ingest_after_a_snapshot(elastic: &ElasticFilters, ready: impl FnOnce(&DB)) {
    let folder = folder();
    let options = installed(elastic, &small_tree());
    let db = DB::open(&options, folder.path().join("db")).expect("open");
    fill_db(&db, "base");
    let snapshot = db.snapshot();
    let file = folder.path().join("ingested.sst");
    let mut writer = SstFileWriter::create(&options);
    writer.open(&file).expect("open");
    (0..NUMBERS).filter(|n| n % 2 == 1).for_each(|n| writer.put(key(n), b"ingested").expect("put"));
    writer.finish().expect("finish");
    db.ingest_external_file_opts(&IngestExternalFileOptions::default(), vec![file]).expect("ingest");
    ready(&db);
    for n in (1..NUMBERS).step_by(2) {
        assert_eq!(snapshot.get(key(n)).expect("get"), None, "{n} came after the snapshot");
        assert_eq!(db.get(key(n)).expect("get").as_deref(), Some(&b"ingested"[..]), "{n}");
    }
}

#[test]
fn entries_of_an_ingested_file_are_as_new_as_its_ingestion() {
    ingest_after_a_snapshot(&leaky(), |_| ());
}

#[test]
fn entries_of_an_ingested_file_that_was_refused_at_first_are_as_new_as_its_ingestion() {
    let elastic = leaky();
    elastic.set_budget_bytes(0).unwrap();
    ingest_after_a_snapshot(&elastic, |db| {
        elastic.set_budget_bytes(AMPLE_BYTES).unwrap();
        wait_until("every open table is known", || {
            (0..NUMBERS).for_each(|n| assert!(db.get(key(n)).expect("get").is_some(), "{n}"));
            // Tables that a compaction replaced may be open a while longer.
            elastic.stats().tables >= db.live_files().expect("live_files").len()
        });
    });
}

#[test]
fn remembering_can_be_turned_off() {
    let elastic = ElasticFilters::builder()
        .budget_bytes(AMPLE_BYTES)
        .units(UnitSettings::bloom(1, 1).expect("sound"))
        .negative_cache(false)
        .build()
        .expect("the settings are sound");
    let folder = folder();
    let db = DB::open(&installed(&elastic, &small_tree()), folder.path()).expect("open");
    fill_db(&db, "plain");
    let (known, _) = met(&elastic, || (0..3).for_each(|_| check_db(&db, "plain")));
    assert_eq!((known, elastic.stats().used.negative_cache), (0, 0));
}
