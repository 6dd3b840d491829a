//! `springbloom inspect` and `advise` on databases as they are found: whatever the comparator, large, spread over folders, in use.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering as AtomicOrdering};
use std::time::SystemTime;

use rocksdb::{ColumnFamilyDescriptor, DB, DBPath, Options, WaitForCompactOptions};
use serde_json::Value;
use springbloom_rocksdb::ElasticFilters;

use crate::common::{run_with, uncompacted};

/// The time of change and the size of each file below a folder.
fn files_in(folder: &Path) -> BTreeMap<PathBuf, (SystemTime, u64)> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("a file");
        let metadata = entry.metadata().expect("metadata");
        if metadata.is_dir() {
            files.extend(files_in(&entry.path()));
        }
        files.insert(entry.path(), (metadata.modified().expect("a time"), metadata.len()));
    }
    files
}

/// The report of `inspect` with few descriptors, which must write nothing.
fn inspected(folder: &Path, more: &[&str]) -> Value {
    let before = files_in(folder);
    let arguments: Vec<_> =
        ["inspect", "--json", folder.to_str().expect("text")].iter().chain(more).copied().collect();
    let (code, out, err) = run_with(32, &arguments);
    assert_eq!(code, 0, "{err}");
    assert_eq!(files_in(folder), before, "reading writes nothing");
    serde_json::from_str(&out).expect("one JSON document")
}

/// `advise` too must read the database.
fn advised(folder: &Path, more: &[&str]) {
    let before = files_in(folder);
    let arguments: Vec<_> = ["advise", folder.to_str().expect("text")].iter().chain(more).copied().collect();
    let (code, out, err) = run_with(32, &arguments);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("wasted reads per"), "{out}");
    assert_eq!(files_in(folder), before, "reading writes nothing");
}

fn tables(report: &Value) -> &[Value] {
    report["tables"].as_array().expect("an array")
}

fn entries(report: &Value) -> u64 {
    tables(report).iter().map(|table| table["entries"].as_u64().expect("a number")).sum()
}

/// Options with filters, for whatever comparator, and without compactions.
fn options() -> (Options, ElasticFilters) {
    let elastic = ElasticFilters::builder()
        .assume_bytewise_equality(true)
        .segment_size(16 << 10)
        .build()
        .expect("the settings are sound");
    (uncompacted(), elastic)
}

fn fill(db: &DB, keys: u32, tables: u32) {
    for table in 0..tables {
        for number in (table..keys).step_by(tables as usize) {
            db.put(format!("{number:08}"), [b'v'; 40]).expect("put");
        }
        db.flush().expect("flush");
    }
}

/// So that there is use to save.
fn look_up_absent(db: &DB, keys: u32) {
    for number in 0..keys {
        assert_eq!(db.get(format!("{number:08}-")), Ok(None));
    }
}

#[test]
fn comparators_need_not_be_known() {
    fn by_length(a: &[u8], b: &[u8]) -> Ordering {
        a.len().cmp(&b.len()).then_with(|| b.cmp(a))
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (mut options, elastic) = options();
    options.set_comparator("of the user", Box::new(by_length));
    elastic.install(&mut options).expect("install");
    let families =
        ["default", "dropped", "kept"].map(|name| ColumnFamilyDescriptor::new(name, options.clone()));
    let mut db = DB::open_cf_descriptors(&options, folder.path(), families).expect("open");
    fill(&db, 6000, 3);
    for name in ["dropped", "kept"] {
        let family = db.cf_handle(name).expect("a column family");
        db.put_cf(&family, name, name).expect("put");
        db.flush_cf(&family).expect("flush");
    }
    db.drop_cf("dropped").expect("drop");
    look_up_absent(&db, 6000);
    drop(db);
    let report = inspected(folder.path(), &[]);
    assert_eq!(entries(&report), 6001);
    let families: Vec<_> = tables(&report).iter().map(|table| table["column_family"].as_str()).collect();
    assert_eq!(families, [Some("default"), Some("default"), Some("default"), Some("kept")]);
    assert!(tables(&report).iter().all(|table| table["units"].is_object()), "{report}");
    advised(folder.path(), &[]);
}

#[test]
fn tables_are_opened_one_at_a_time_and_the_write_ahead_log_is_not_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut options, elastic) = options();
    elastic.install(&mut options).expect("install");
    let db = DB::open(&options, folder.path()).expect("open");
    // Two keys in each, so that absent ones lie between them.
    fill(&db, 600, 300);
    look_up_absent(&db, 600);
    db.put("only in the log", "value").expect("put");
    drop(db);
    // One that cannot be read.
    let log = files_in(folder.path()).into_keys().find(|path| path.extension().is_some_and(|it| it == "log"));
    let log = log.expect("a write-ahead log");
    fs::remove_file(&log).expect("remove");
    fs::create_dir(&log).expect("a folder in its place");
    let report = inspected(folder.path(), &[]);
    assert_eq!((tables(&report).len(), entries(&report)), (300, 600));
    advised(folder.path(), &[]);
}

#[test]
fn tables_may_lie_in_several_folders() {
    let folder = tempfile::tempdir().expect("a folder");
    let [main, slow] = ["main", "slow"].map(|name| folder.path().join(name));
    let (mut options, elastic) = options();
    let paths = [&main, &slow].map(|path| DBPath::new(path, 20 << 10).expect("a path"));
    options.set_db_paths(&paths);
    // What is compacted goes to the last folder.
    options.set_disable_auto_compactions(false);
    options.set_level_zero_file_num_compaction_trigger(3);
    elastic.install(&mut options).expect("install");
    let db = DB::open(&options, &main).expect("open");
    fill(&db, 3000, 3);
    db.wait_for_compact(&WaitForCompactOptions::default()).expect("compaction");
    // A table in the first folder, whose use alone is remembered, over all keys.
    ["00000000", "00002999-"].iter().for_each(|key| db.put(key, "value").expect("put"));
    db.flush().expect("flush");
    look_up_absent(&db, 2999);
    drop(db);
    let tables_in = |folder: &Path| {
        files_in(folder).keys().filter(|path| path.extension().is_some_and(|it| it == "sst")).count()
    };
    assert_eq!([&main, &slow].map(|folder| tables_in(folder)), [1, 1]);

    let [main_path, slow] = [&main, &slow].map(|path| path.to_str().expect("text"));
    for command in ["inspect", "advise"] {
        let (code, _, err) = run_with(32, &[command, main_path]);
        assert_eq!(code, 2, "{err}");
        assert!(err.contains("1 of the tables") && err.contains("--tables-in"), "{err}");
        let (code, _, err) = run_with(32, &[command, main_path, "--tables-in", "/nonexistent"]);
        assert_eq!(code, 2, "{err}");
        assert!(err.contains("there is no such folder"), "{err}");
    }
    let folders = ["--tables-in", folder.path().to_str().expect("text"), "--tables-in", slow];
    assert_eq!(entries(&inspected(&main, &folders)), 3002);
    advised(&main, &folders);
}

#[test]
fn a_process_may_write_and_compact_meanwhile() {
    let folder = tempfile::tempdir().expect("a folder");
    let elastic = ElasticFilters::builder().build().expect("the settings are sound");
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_write_buffer_size(32 << 10);
    options.set_target_file_size_base(16 << 10);
    options.set_max_bytes_for_level_base(64 << 10);
    options.set_level_zero_file_num_compaction_trigger(2);
    options.set_max_manifest_file_size(4 << 10); // a new MANIFEST after some compactions
    elastic.install(&mut options).expect("install");
    let db = DB::open(&options, folder.path()).expect("open");
    fill(&db, 3000, 3);
    let is_over = AtomicBool::new(false);
    let manifest = || fs::read_to_string(folder.path().join("CURRENT")).expect("CURRENT");
    let (first_manifest, path) = (manifest(), folder.path().to_str().expect("text"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in (0..3000u32).cycle() {
                if is_over.load(AtomicOrdering::Relaxed) {
                    break;
                }
                db.put(format!("{number:08}"), [b'w'; 40]).expect("put");
            }
        });
        // On a busy machine compactions may take long to come.
        for run in (0..1000).take_while(|&run| run < 30 || manifest() == first_manifest) {
            let (code, out, err) = run_with(32, &["inspect", "--json", path]);
            assert_eq!(code, 0, "{run}: {err}");
            serde_json::from_str::<Value>(&out).expect("one JSON document");
        }
        is_over.store(true, AtomicOrdering::Relaxed);
    });
    assert_ne!(manifest(), first_manifest, "the MANIFEST was never replaced");
    db.wait_for_compact(&WaitForCompactOptions::default()).expect("compaction");
    let report = inspected(folder.path(), &[]);
    let live = db.live_files().expect("live files");
    assert_eq!(tables(&report).len(), live.len());
    assert_eq!(entries(&report), live.iter().map(|file| file.num_entries).sum::<u64>());
}
