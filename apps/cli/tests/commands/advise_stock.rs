//! `springbloom advise` on databases of stock RocksDB, before anything is installed, while they are open.

use std::cmp::Ordering;
use std::path::Path;

use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamilyDescriptor, DB, KeyEncodingType, Options, PlainTableFactoryOptions,
};
use serde_json::Value;

use crate::common::{run_with, uncompacted};

/// Runs `advise` with this many descriptors; exit code, standard output and standard error.
fn advise(descriptors: u32, folder: &Path, more: &[&str]) -> (i32, String, String) {
    run_with(descriptors, &[&["advise", folder.to_str().expect("text")], more].concat())
}

/// The report as JSON, and as text.
fn advised(folder: &Path, more: &[&str]) -> (Value, String) {
    let (code, json, err) = advise(1024, folder, &[&["--json"], more].concat());
    assert_eq!(code, 0, "{err}");
    let (code, text, err) = advise(1024, folder, more);
    assert_eq!(code, 0, "{err}");
    (serde_json::from_str(&json).expect("one JSON document"), text)
}

fn options(filter_bits: f64, cache_bytes: usize, are_filters_cached: bool) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_bloom_filter(filter_bits, false);
    table.set_block_cache(&Cache::new_lru_cache(cache_bytes));
    table.set_cache_index_and_filter_blocks(are_filters_cached);
    let mut options = uncompacted();
    options.set_block_based_table_factory(&table);
    options
}

#[test]
fn one_family_whose_filters_fit() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut options = options(10.0, 8 << 20, false);
    options.enable_statistics();
    options.set_stats_dump_period_sec(1);
    let db = DB::open(&options, folder.path()).expect("open");
    (0..20_000).for_each(|n| db.put(format!("{n:08}"), [b'v'; 50]).expect("put"));
    db.flush().expect("flush");
    for n in 0..20_000 {
        assert_eq!(db.get(format!("{n:08}-")), Ok(None));
    }
    // Counters come to the LOG from time to time.
    let has_counters = || {
        let log = std::fs::read_to_string(folder.path().join("LOG")).expect("a LOG");
        log.rsplit("rocksdb.number.keys.read COUNT : ").next().is_some_and(|rest| rest.starts_with("20000"))
    };
    let begun = std::time::Instant::now();
    while !has_counters() {
        assert!(begun.elapsed().as_secs() < 120, "no counters were dumped");
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    let (report, text) = advised(folder.path(), &[]);
    let database = &report["database"];
    assert_eq!((&database["entries"], &database["tables"]), (&20_000.into(), &1.into()), "{report}");
    let bits = database["levels"][0]["filter_bits_per_entry"].as_f64().expect("a number");
    assert!((9.9..11.0).contains(&bits), "{bits}");
    assert!(database["index_bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{report}");
    let log = &report["log"];
    assert_eq!(log["families"]["default"]["block_cache_bytes"], 8 << 20, "{log}");
    assert_eq!(log["families"]["default"]["cache_index_and_filter_blocks"], false, "{log}");
    assert_eq!(log["tickers"]["keys_read"], 20_000, "{log}");
    assert_eq!(report["verdict"]["answer"], "not_needed", "{report}");
    assert!(text.contains("You do not need it, because") && text.contains("bytes per entry"), "{text}");
    assert!(text.contains("20000 lookups"), "{text}");
    // With less memory it is another matter.
    let (report, _) = advised(folder.path(), &["--memory", "20KiB"]);
    assert_eq!(report["verdict"]["answer"], "needed", "{report}");
    drop(db);
}

#[test]
fn eight_families_that_share_a_small_cache() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = options(10.0, 64 << 10, true);
    let names: Vec<_> = (1..8).map(|n| format!("family {n}")).chain(["default".to_owned()]).collect();
    let families = names.iter().map(|name| ColumnFamilyDescriptor::new(name, options.clone()));
    let db = DB::open_cf_descriptors(&options, folder.path(), families).expect("open");
    for name in &names {
        let family = db.cf_handle(name).expect("a column family");
        for n in 0..5000 {
            db.put_cf(&family, format!("{n:08}"), [b'v'; 50]).expect("put");
        }
        db.flush_cf(&family).expect("flush");
    }
    let (report, text) = advised(folder.path(), &[]);
    let levels = report["database"]["levels"].as_array().expect("an array");
    assert_eq!(levels.len(), 8, "{report}");
    assert!(levels.iter().all(|level| level["entries"] == 5000), "{report}");
    let verdict = &report["verdict"];
    assert_eq!(verdict["answer"], "needed", "{verdict}");
    assert_eq!(verdict["memory"]["bytes"], 64 << 10, "one cache, counted once: {verdict}");
    let budget = verdict["budget_bytes"].as_u64().expect("a number");
    assert!((20_000..=32 << 10).contains(&budget), "{verdict}");
    assert!(verdict["saved_bytes"].as_u64().is_some_and(|bytes| bytes > 20_000), "{verdict}");
    assert!(text.contains("You need it, because") && text.contains("Column families: 8;"), "{text}");
    assert!(text.contains("Install it with its defaults") && text.contains("To measure:"), "{text}");
}

#[test]
fn a_reverse_comparator_and_many_small_tables() {
    fn reverse(a: &[u8], b: &[u8]) -> Ordering {
        b.cmp(a)
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut options = options(4.0, 1 << 20, false);
    options.set_comparator("of the user", Box::new(reverse));
    let db = DB::open(&options, folder.path()).expect("open");
    for table in 0..1100 {
        (0..4).for_each(|n| db.put(format!("{table:05}{n}"), "value").expect("put"));
        db.flush().expect("flush");
    }
    let (report, _) = advised(folder.path(), &[]);
    assert_eq!(report["database"]["tables"], 1100, "{}", report["verdict"]);
    assert_eq!(report["database"]["entries"], 4400);
    drop(db);
    // Without its LOG nothing is known of its memory.
    std::fs::remove_file(folder.path().join("LOG")).expect("remove");
    let (report, text) = advised(folder.path(), &[]);
    assert_eq!((&report["verdict"]["answer"], &report["log"]), (&"unknown".into(), &Value::Null));
    assert!(text.contains("cannot tell") && text.contains("--memory"), "{text}");
}

#[test]
fn what_cannot_be_read_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(DB::open(&options(4.0, 1 << 20, false), folder.path()).expect("open"));
    let file = folder.path().join("CURRENT");
    let (code, _, err) = advise(1024, &file, &[]);
    assert!(code == 2 && err.contains("is a file: expected the folder of a RocksDB database"), "{err}");
    let log = folder.path().join("LOG");
    std::fs::remove_file(&log).expect("remove");
    std::fs::create_dir(&log).expect("what is no file");
    let (report, text) = advised(folder.path(), &[]);
    assert!(
        report["log_fault"].as_str().is_some_and(|fault| fault.contains("not a regular file")),
        "{report}"
    );
    assert!(text.contains("LOG: it cannot be read, so settings are not known: "), "{text}");
}

#[test]
fn bad_input_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for (arguments, said) in [
        (&[][..], "is not a RocksDB database"),
        (&["--memory", "much"][..], "--memory"),
        (&["--tables-in", "/nonexistent"][..], "not a RocksDB database"),
    ] {
        let (code, out, err) = advise(64, folder.path(), arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains(said), "{err}");
    }
}

#[test]
fn what_is_damaged_is_left_out_and_told_after_the_advice() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = DB::open(&options(10.0, 8 << 20, false), folder.path()).expect("open");
    for table in 0..3 {
        (0..1000).for_each(|n| db.put(format!("{:08}", 3 * n + table), [b'v'; 50]).expect("put"));
        db.flush().expect("flush");
    }
    drop(db);
    let advise_json = || {
        let (code, json, err) = advise(1024, folder.path(), &["--json"]);
        let report: Value = serde_json::from_str(&json).expect("one JSON document");
        (code, report["database"]["tables"].clone(), err)
    };
    let hotness = folder.path().join("OPTIONS-0-SPRINGBLOOM-HOTNESS.dbtmp");
    std::fs::write(&hotness, "not hotness").expect("write");
    let (code, tables, err) = advise_json();
    assert_eq!((code, tables), (1, 3.into()), "{err}");
    assert!(err.contains("only a warm start needs this file"), "{err}");
    std::fs::remove_file(&hotness).expect("remove");
    let files = std::fs::read_dir(folder.path()).expect("list").map(|file| file.expect("list").path());
    let table = files.filter(|path| path.extension().is_some_and(|end| end == "sst")).min().expect("a table");
    let mut bytes = std::fs::read(&table).expect("read");
    let end = bytes.len() - 60;
    bytes[end..].fill(0);
    std::fs::write(&table, bytes).expect("write");
    let (code, tables, err) = advise_json();
    assert_eq!((code, tables), (1, 2.into()), "{err}");
    assert!(err.contains("damaged tables were left out: 1, first: "), "{err}");
}

#[test]
fn tables_of_another_format_are_told_from_damaged_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_allow_mmap_reads(true);
    options.set_plain_table_factory(&PlainTableFactoryOptions {
        user_key_length: 0,
        bloom_bits_per_key: 0,
        hash_table_ratio: 0.0,
        index_sparseness: 16,
        huge_page_tlb_size: 0,
        encoding_type: KeyEncodingType::Plain,
        full_scan_mode: true,
        store_index_in_file: false,
    });
    let db = DB::open(&options, folder.path()).expect("open");
    db.put("key", "value").expect("put");
    db.flush().expect("flush");
    let (code, _, err) = advise(64, folder.path(), &[]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("not of the block-based table format"), "{err}");
}

#[test]
fn a_smaller_index_is_told_as_large_as_it_will_be() {
    let advised_with = |restart_interval: i32, block_bytes: usize, records: u32| {
        let folder = tempfile::tempdir().expect("a folder");
        let mut table = BlockBasedOptions::default();
        table.set_index_block_restart_interval(restart_interval);
        table.set_block_size(block_bytes);
        let mut options = uncompacted();
        options.set_block_based_table_factory(&table);
        options.set_target_file_size_base(1 << 20);
        let db = DB::open(&options, folder.path()).expect("open");
        for number in 0..records {
            db.put(format!("user{:020}", u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15)), [b'v'; 400])
                .expect("put");
        }
        db.flush().expect("flush");
        drop(db);
        advised(folder.path(), &[])
    };
    let bytes = |report: &Value, of: &str| report["indexes"][of].as_u64().expect("a number") as f64;
    let (report, text) = advised_with(1, 4096, 30_000);
    let (small, _) = advised_with(16, 4096, 30_000);
    let (large_blocks, _) = advised_with(16, 16 << 10, 30_000);
    for (told, is) in [
        (bytes(&report, "restart_16_bytes"), bytes(&small, "bytes")),
        (bytes(&report, "large_blocks_bytes"), bytes(&large_blocks, "bytes")),
        (bytes(&small, "restart_16_bytes"), bytes(&small, "bytes")),
    ] {
        assert!((told / is - 1.0).abs() < 0.08, "{told} were told, and {is} it is");
    }
    assert!(text.contains("Set index_block_restart_interval=16:"), "{text}");
    let (_, text) = advised_with(16, 4096, 3_000);
    assert!(text.contains("would be") && !text.contains("Set index_block"), "{text}");
}
