//! `springbloom explain` against what lookups of the same keys do.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use rocksdb::perf::{PerfContext, PerfMetric, PerfStatsLevel, set_perf_stats};
use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, Cache, ColumnFamilyDescriptor, DB, DataBlockIndexType,
    MergeOperands, Options,
};
use serde_json::Value;
use springbloom_rocksdb::inspect::{self, Entry, KeyReport, Verdict};
use springbloom_rocksdb::listed_tables::{self, Comparator, ListedTable};
use springbloom_rocksdb::{ElasticFilters, HOTNESS_FILE_NAME, LevelUnits};

use crate::common::{run_with, uncompacted};

const KEYS: u32 = 1500;

fn key(number: u32) -> String {
    format!("{number:08}")
}

fn last_operand(_: &[u8], value: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
    operands.iter().last().or(value).map(<[u8]>::to_vec)
}

/// How tables find a key.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Find {
    Plain,
    HashInDataBlocks,
    FirstKeysInIndex,
}

/// Options whose lookups read all their data blocks, and no other ones.
fn options(reversed: bool, find: Find) -> Options {
    let mut options = uncompacted();
    let mut tables = BlockBasedOptions::default();
    tables.disable_cache();
    tables.set_block_size(512);
    if find == Find::HashInDataBlocks {
        tables.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    }
    options.set_block_based_table_factory(&tables);
    options.set_merge_operator_associative("last", last_operand);
    if reversed {
        options.set_comparator("rocksdb.ReverseBytewiseComparator", Box::new(|a: &[u8], b: &[u8]| b.cmp(a)));
    }
    options
}

fn elastic(budget_bytes: u64) -> ElasticFilters {
    let builder = ElasticFilters::builder().budget_bytes(budget_bytes).segment_size(16 << 10);
    builder.assume_bytewise_equality(true).build().expect("the settings are sound")
}

/// Values in three tables, then a table of deletions and operands, then one that deletes a range; a key stays in memory.
fn fill(db: &DB, reversed: bool) {
    for table in 0..3 {
        (table..KEYS).step_by(3).for_each(|number| db.put(key(number), [b'v'; 60]).expect("put"));
        db.flush().expect("flush");
    }
    for number in (0..KEYS).step_by(10) {
        db.delete(key(number)).expect("delete");
        db.merge(key(number + 1), "operand").expect("merge");
    }
    db.merge("operand", "without a value").expect("merge");
    db.flush().expect("flush");
    let (from, to) = if reversed { (500, 400) } else { (400, 500) };
    let family = db.cf_handle("default").expect("a column family");
    db.delete_range_cf(&family, key(from), key(to)).expect("delete a range");
    db.put(key(450), "again").expect("put");
    db.flush().expect("flush");
    db.put("only in memory", "value").expect("put");
}

/// The keys that are looked up: there, deleted, between others, and outside of all.
fn keys() -> impl Iterator<Item = String> {
    let numbered = (0..KEYS + 5).flat_map(|number| [key(number), key(number) + "-"]);
    numbered.step_by(3).chain(["operand".to_owned(), "outside".to_owned()])
}

/// What happens in the table files in a lookup of a key: rejections, passes and blocks read.
fn looked_up(db: &DB, key: &str) -> (bool, [u64; 3]) {
    let mut counts = PerfContext::default();
    counts.reset();
    let found = db.get(key).expect("get").is_some();
    let metrics = [PerfMetric::BloomSstMissCount, PerfMetric::BloomSstHitCount, PerfMetric::BlockReadCount];
    (found, metrics.map(|metric| counts.metric(metric)))
}

/// What the tables say, in the order of a lookup that asks all units, until it ends.
fn asked(folder: &Path, tables: &[ListedTable], key: &str, comparator: Comparator) -> Vec<KeyReport> {
    let mut reports = Vec::new();
    for table in tables.iter().filter(|table| table.spans(key.as_bytes(), comparator)) {
        let path = folder.join(table.file_name());
        let report = inspect::key(&path, key.as_bytes(), comparator).expect("a table");
        let is_read = report.entry == Entry::RangeDeletion || !is_rejected(&report);
        let ends = report.ends_lookup && is_read;
        reports.push(report);
        if ends {
            break;
        }
    }
    reports
}

fn is_rejected(report: &KeyReport) -> bool {
    matches!(&report.verdict, Verdict::Probed(probe) if probe.rejecting_unit.is_some())
}

fn is_there(report: &KeyReport) -> bool {
    matches!(report.entry, Entry::Value | Entry::Deletion | Entry::Operand)
}

fn listed(folder: &Path) -> Vec<ListedTable> {
    let mut tables = listed_tables::of_database(folder).expect("a database");
    tables.sort_by_key(ListedTable::age);
    tables
}

/// The report of the program as JSON, and the exit code.
fn explain(folder: &Path, key: &str) -> (i32, Value) {
    let arguments = ["explain", folder.to_str().expect("text"), key, "--json"];
    let (code, out, err) = run_with(64, &arguments);
    (code, serde_json::from_str(&out).unwrap_or_else(|_| panic!("{code} {out} {err}")))
}

fn refused(arguments: &[&str], said: &str) {
    let (code, out, err) = run_with(64, &[&["explain"], arguments].concat());
    assert!(code == 2 && out.is_empty() && err.contains(said), "{arguments:?}: {code} {out} {err}");
}

/// With all units and with none, in both orders, an explanation is what a lookup does.
#[test]
fn explanations_are_what_lookups_do() {
    set_perf_stats(PerfStatsLevel::EnableCount);
    let cases = [
        (false, Find::Plain),
        (true, Find::Plain),
        (false, Find::HashInDataBlocks),
        (false, Find::FirstKeysInIndex),
    ];
    for (reversed, find) in cases {
        let comparator = if reversed { Comparator::ReverseBytewise } else { Comparator::Bytewise };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        let (mut options, elastic) = (options(reversed, find), elastic(8 << 20));
        elastic.install(&mut options).expect("install");
        let open = || {
            DB::open_cf_descriptors(&options, path, [ColumnFamilyDescriptor::new("default", options.clone())])
        };
        let db = open().expect("open");
        if find == Find::FirstKeysInIndex {
            let first_keys = [("block_based_table_factory", "{index_type=kBinarySearchWithFirstKey;}")];
            db.set_options(&first_keys).expect("set options");
        }
        fill(&db, reversed);
        for table in 0..KEYS {
            assert_eq!(db.get(key(table) + "-"), Ok(None));
        }
        assert!(elastic.wait_idle(Duration::from_secs(60)), "the loader never came to rest");
        let stats = elastic.stats();
        let resident: u64 = stats.levels.iter().map(LevelUnits::units).sum();
        assert_eq!(resident, 16 * stats.segments as u64, "{stats:?}");
        let tables = listed(path);
        let (mut rejections, mut outcomes) = (0, BTreeMap::new());
        for key in keys() {
            let (found, [rejected, passed, blocks]) = looked_up(&db, &key);
            let reports = asked(path, &tables, &key, comparator);
            assert!(
                !reports.iter().any(|report| is_there(report) && is_rejected(report)),
                "{key}: {reports:?}"
            );
            let expected = reports.iter().filter(|report| is_rejected(report)).count() as u64;
            assert_eq!((rejected, passed), (expected, reports.len() as u64 - expected), "{key}: {reports:?}");
            let read = reports.iter().filter(|report| !is_rejected(report));
            assert_eq!(
                blocks,
                read.map(|report| report.data_blocks).sum::<u64>(),
                "{find:?} {key}: {reports:?}"
            );
            let last = reports.iter().rev().find(|report| is_there(report)).map(|report| report.entry);
            assert_eq!(found, matches!(last, Some(Entry::Value | Entry::Operand)), "{key}: {reports:?}");
            rejections += rejected;
            *outcomes.entry(reports.last().map(|report| format!("{:?}", report.entry))).or_insert(0) += 1;
        }
        assert!(rejections > 500 && outcomes.len() == 6, "{rejections} {outcomes:?}");

        // Once the database is closed, the program knows that all units were resident.
        let some: Vec<_> = keys().step_by(40).map(|key| (looked_up(&db, &key), key)).collect();
        drop(db);
        for ((found, [rejected, _, blocks]), key) in &some {
            let (code, report) = explain(path, key);
            assert_eq!(
                (code, &report["blocks"]["now"], &report["are_indexes_cached"]),
                (0, &(*blocks).into(), &false.into()),
                "{report}"
            );
            assert_eq!(report["blocks"]["all_units"], *blocks, "{report}");
            let tables = report["tables"].as_array().expect("tables");
            assert!(
                tables.iter().filter(|table| table["segment"]["rejecting_unit"].is_u64()).count() as u64
                    >= *rejected
            );
            let holds = tables.iter().any(|table| table["holds_key"] == true);
            assert!(holds || !found, "{report}");
        }
        elastic.set_budget_bytes(0).expect("a budget");
        let db = open().expect("open");
        some.iter().for_each(|(_, key)| _ = db.get(key).expect("get")); // the first one reads an index
        for ((found, _), key) in &some {
            let (found_again, [_, _, blocks]) = looked_up(&db, key);
            let (code, report) = explain(path, key);
            assert_eq!(
                (code, &report["blocks"]["no_units"], found_again),
                (0, &blocks.into(), *found),
                "{report}"
            );
        }
    }
}

/// Level 0 has one table, which a lookup of any key asks, and then none. Nothing stays in the block cache but what is pinned.
#[test]
fn pinned_indexes_are_not_read_and_few_tables_are_all_asked() {
    set_perf_stats(PerfStatsLevel::EnableCount);
    let mut reads = BTreeMap::new();
    for case in 0..8 {
        let [is_partitioned, pins_level_0, pins_top] = [0, 1, 2].map(|bit| case >> bit & 1 == 1);
        let folder = tempfile::tempdir().expect("a folder");
        let mut tables = BlockBasedOptions::default();
        tables.set_block_cache(&Cache::new_lru_cache(0));
        tables.set_block_size(512);
        tables.set_metadata_block_size(256);
        tables.set_cache_index_and_filter_blocks(true);
        tables.set_pin_l0_filter_and_index_blocks_in_cache(pins_level_0);
        tables.set_pin_top_level_index_and_filter(pins_top);
        if is_partitioned {
            tables.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
        }
        let mut options = uncompacted();
        options.set_block_based_table_factory(&tables);
        elastic(0).install(&mut options).expect("install");
        let mut db = DB::open(&options, folder.path()).expect("open");
        (0..KEYS).for_each(|number| db.put(key(number), [b'v'; 60]).expect("put"));
        db.flush().expect("flush");
        for level in ["0", "the last"] {
            drop(db);
            db = DB::open(&options, folder.path()).expect("open");
            for key in ["!".to_owned(), key(7), key(700) + "-", "outside".to_owned()] {
                let (_, [.., blocks]) = looked_up(&db, &key);
                let (code, report) = explain(folder.path(), &key);
                let told = (code, &report["blocks"]["no_units"]);
                assert_eq!(told, (0, &blocks.into()), "{case} {level} {key:?} {report}");
                *reads.entry((level, blocks)).or_insert(0) += 1;
            }
            db.compact_range::<&[u8], &[u8]>(None, None);
        }
    }
    assert!(reads.len() >= 6, "{reads:?}");
}

#[test]
fn what_cannot_be_explained_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("text");
    refused(&[path, "key"], "is not a RocksDB database");
    refused(&[path, "0x1"], "even number of hexadecimal digits");
    refused(&[path], "<KEY>");
    let (mut options, elastic) = (uncompacted(), elastic(8 << 20));
    elastic.install(&mut options).expect("install");
    let mut custom = options.clone();
    custom.set_comparator("of the user", Box::new(|a: &[u8], b: &[u8]| a.len().cmp(&b.len()).then(a.cmp(b))));
    let families =
        [("default", &options), ("stock", &uncompacted()), ("empty", &options), ("custom", &custom)]
            .map(|(name, options)| ColumnFamilyDescriptor::new(name, options.clone()));
    let db = DB::open_cf_descriptors(&options, path, families).expect("open");
    for number in 0..KEYS {
        db.put(key(number), "value").expect("put");
        for name in ["stock", "custom"] {
            db.put_cf(&db.cf_handle(name).expect("a family"), key(number), "value").expect("put");
        }
    }
    ["default", "stock", "custom"]
        .iter()
        .for_each(|name| db.flush_cf(&db.cf_handle(name).expect("a family")).expect("flush"));
    refused(&[path, "key", "--family", "other"], "expected one of: default, stock, empty, custom");
    refused(
        &[path, "key", "--family", "custom"],
        "has the comparator \"of the user\", expected that of bytes or its reverse",
    );
    let text = |arguments: &[&str]| {
        let (code, out, err) = run_with(64, &[&["explain", path], arguments].concat());
        assert_eq!(code, 0, "{out} {err}");
        out
    };
    for (arguments, said) in [
        (&["key", "--family", "empty"][..], "of the 0 tables"),
        (&["zzz"], "asks up to 1 of the 1 tables"),
        (&["00000007", "--family", "stock"], "no filter: reads"),
        (&["0x3030303030303037"], "value"),
        (&["00000007-"], "no hotness file that can be used"),
    ] {
        let out = text(arguments);
        assert!(out.contains(said), "{arguments:?}: {out}");
    }
    drop(db);

    // Damage is told. Units behind a damaged one are not asked.
    let mut tables = listed(folder.path());
    tables.retain(|table| &*table.column_family == "default");
    let name = tables[0].file_name();
    let (table, hotness) = (folder.path().join(&name), folder.path().join(HOTNESS_FILE_NAME));
    let bytes = fs::read(&table).expect("read");
    let mut damaged = bytes.clone();
    let filter_bytes = inspect::table(&table).expect("a table").filter_bytes as usize;
    damaged[bytes.len() - filter_bytes * 85 / 100] ^= 1; // among the units, as index and properties are smaller
    fs::write(&table, &damaged).expect("write");
    let units = inspect::table(&table).expect("a table").units.expect("units").expect("a directory");
    let segment = units.segments.iter().find(|segment| !segment.corrupt_units.is_empty()).expect("damage");
    let (key, sound_units) = (segment.first_key.escape_ascii().to_string() + "-", segment.corrupt_units[0]);
    let (code, report) = explain(folder.path(), &key);
    assert_eq!((code, &report["tables"][0]["segment"]["sound_units"]), (1, &sound_units.into()), "{report}");
    damaged[..100].iter_mut().for_each(|byte| *byte ^= 0x55); // the first data block
    fs::write(&table, damaged).expect("write");
    let (code, out, err) = run_with(64, &["explain", path, "00000000"]);
    let said = name.to_str().expect("text");
    assert!(code == 1 && out.contains("fails: ") && err.contains(said), "{code} {out} {err}");
    fs::write(&table, bytes).expect("put back");
    fs::write(&hotness, "junk").expect("write");
    let (code, out, err) = run_with(64, &["explain", path, "00000007-"]);
    assert!(code == 1 && out.contains("is not known") && err.contains("hotness"), "{code} {out} {err}");
}
