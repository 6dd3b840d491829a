//! Modular filters: memory, reads of modules, and modules that are skipped.

use rocksdb::perf::{PerfContext, PerfStatsLevel, set_perf_stats};
use rocksdb::{BlockBasedOptions, DB, DBCompressionType, Options, WaitForCompactOptions};
use springbloom_baselines::{BlockReads, Modular, SHAMBA_THRESHOLDS, modular};

const KEYS: u32 = 20_000;

fn key(i: u32) -> [u8; 8] {
    u64::from(i.reverse_bits()).to_be_bytes()
}

/// Reads of modules and data blocks of two sweeps over `keys`, after one that warms up.
fn reads(thresholds: &[f64], budget_bytes: u64, keys: std::ops::Range<u32>) -> (BlockReads, u64) {
    let folder = tempfile::tempdir().expect("folder");
    let mut tables = BlockBasedOptions::default();
    tables.disable_cache();
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_compression_type(DBCompressionType::None);
    options.set_target_file_size_base(32 << 10);
    let settings = Modular {
        bits: 10.0,
        thresholds: thresholds.to_vec(),
        file: folder.path().join("MODULES"),
        direct_reads: false,
        budget_bytes: Some(budget_bytes),
    };
    modular(&mut options, &tables, &settings).expect("block-based options");
    let db = DB::open(&options, folder.path()).expect("open");
    for i in 0..KEYS {
        db.put(key(i), i.to_le_bytes()).expect("put");
    }
    db.flush().expect("flush");
    db.compact_range::<&[u8], &[u8]>(None, None);
    db.wait_for_compact(&WaitForCompactOptions::default()).expect("settle");
    let sweep = || {
        for i in keys.clone() {
            let expected = (i < KEYS).then(|| i.to_le_bytes().to_vec());
            assert_eq!(db.get(key(i)).expect("get"), expected, "{i}");
        }
    };
    sweep();
    set_perf_stats(PerfStatsLevel::EnableCount);
    PerfContext::default().reset();
    sweep();
    sweep();
    let usage = db.property_int_value("rocksdb.block-cache-usage").expect("property").expect("a cache");
    (BlockReads::of_this_thread(), usage)
}

#[test]
fn modules_reject_absent_keys_as_one_filter_of_their_size_does() {
    let (read, usage) = reads(&[0.0, 0.0], 1 << 20, KEYS..2 * KEYS);
    assert_eq!(read.filter, 0, "all modules are in memory");
    // 0.9% of the lookups with 10 bits per key.
    let wasted = read.data as f64 / f64::from(2 * KEYS);
    assert!((0.004..0.016).contains(&wasted), "{read:?}");
    let bits = usage as f64 * 8.0 / f64::from(KEYS);
    assert!((9.5..12.0).contains(&bits), "{usage}");
}

#[test]
fn modules_are_read_one_by_one_into_a_small_cache() {
    // Room for a fifth. The first module turns nine of ten absent keys away, so the second one is hardly read.
    const CAPACITY_BYTES: u64 = 5_000;
    let (read, usage) = reads(&[0.0, 0.0], CAPACITY_BYTES, KEYS..2 * KEYS);
    assert!(usage <= CAPACITY_BYTES + 1_000, "{usage}");
    let modules = read.filter as f64 / f64::from(2 * KEYS);
    assert!((0.3..1.2).contains(&modules), "{read:?}");
    let wasted = read.data as f64 / f64::from(2 * KEYS);
    assert!((0.004..0.016).contains(&wasted), "{read:?}");
}

#[test]
fn modules_of_tables_that_have_the_keys_are_skipped() {
    let reads = |thresholds: &[f64]| reads(thresholds, 5_000, 0..KEYS).0;
    let (skipping, asking) = (reads(&SHAMBA_THRESHOLDS), reads(&[0.0, 0.0]));
    assert_eq!(skipping.data, asking.data, "each key is in one table, which is read");
    assert!(asking.filter > 20_000, "both modules of each key are asked: {asking:?}");
    assert!(skipping.filter < asking.filter / 10, "{skipping:?} {asking:?}");
}

#[test]
fn modules_need_a_cache() {
    let mut tables = BlockBasedOptions::default();
    tables.disable_cache();
    let settings = Modular {
        bits: 10.0,
        thresholds: vec![0.0],
        file: "MODULES".into(),
        direct_reads: false,
        budget_bytes: None,
    };
    let error = modular(&mut Options::default(), &tables, &settings).expect_err("no cache").to_string();
    assert!(error.contains("need a block cache"), "{error}");
    let none = Modular { thresholds: Vec::new(), ..settings };
    let error = modular(&mut Options::default(), &tables, &none).expect_err("no module").to_string();
    assert!(error.contains("one module at least"), "{error}");
}
