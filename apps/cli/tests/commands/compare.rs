//! `springbloom compare` on tiny databases.

use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::common::{self, refused, springbloom};

/// A run of a second: tiny and through the page cache, which every file system allows.
fn compare(arguments: &str) -> Command {
    let is_load = arguments.contains("--load-only");
    let few = if is_load { "" } else { "--ops 1500 --warmup 300 --rounds 2" };
    springbloom(&format!("compare --set buffered --records 20000 --value-bytes 100 {few} {arguments}"))
}

fn json(arguments: &str) -> Value {
    common::json(&mut compare(arguments))
}

/// The figures of each configuration and number of threads by their names; those of a kind of call, or of a part of the budget, behind a
/// colon.
fn rows(document: &Value) -> Vec<Value> {
    let mut rows: Vec<Value> = Vec::new();
    for figure in document["figures"].as_array().expect("figures") {
        let (of, name) = (&figure["of"], figure["name"].as_str().expect("name"));
        let is_its = |row: &Value| row["config"] == of["config"] && row["threads"] == of["threads"];
        let at = rows.iter().position(is_its).unwrap_or_else(|| {
            rows.push(serde_json::json!({"config": of["config"], "threads": of["threads"]}));
            rows.len() - 1
        });
        let label = of["call"].as_str().or(of["part"].as_str());
        rows[at][label.map_or(name.to_owned(), |label| format!("{name}:{label}"))] = figure["value"].clone();
    }
    rows
}

/// Calls of all kinds.
fn calls(row: &Value) -> f64 {
    let row = row.as_object().expect("a row");
    row.iter().filter(|(name, _)| name.starts_with("calls:")).filter_map(|(_, calls)| calls.as_f64()).sum()
}

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or_else(|| panic!("{field} in {row}"))
}

#[test]
fn every_configuration_reports_every_figure() {
    let configs = "none,bloom:4,bloom:10,ribbon:4,partitioned:10,monkey-bloom:4,monkey-ribbon:4,elastic:6";
    let document = json(&format!("--configs {configs} --hot-key-seeds 2"));
    let rows = rows(&document);
    assert_eq!(rows.len(), 8);
    for row in &rows {
        assert_eq!(row["threads"], "1");
        assert_eq!(calls(row), 1500.0);
        let positive = "lookups_per_s lookups_ratio call_mean_us:get data_reads_per_get cpu_us_per_op";
        for field in positive.split(' ') {
            assert!(number(row, field) > 0.0, "{field} in {row}");
        }
        let others = "wasted_reads_per_get filter_reads_per_get index_reads_per_get unit_reads filter_bytes";
        for field in others.split(' ') {
            assert!(number(row, field) >= 0.0, "{field} in {row}");
        }
    }
    let header = "rocksdb records value_bytes distribution absent_share levels budget_bytes";
    for field in header.split(' ') {
        assert!(!document["settings"][field].is_null(), "{field} in the header");
    }
    let figure = ["least", "value", "most"].map(|name| document["figures"][0][name].as_f64());
    assert!(figure.is_sorted(), "{figure:?}");
    let elastic = rows.iter().find(|row| row["config"] == "elastic:6").expect("row");
    // One digest a get, published in steps of 64 for each thread of each round.
    assert!((number(elastic, "digests_per_get") - 1.0).abs() <= 2.0 * 64.0 / 1500.0, "{elastic}");
    assert!(number(elastic, "tables_per_get") >= 1.0, "{elastic}");
}

#[test]
fn figures_tell_filters_apart() {
    let document = json("--configs none,bloom:4,bloom:10 --absent-share 1");
    let all = rows(&document);
    let [none, bloom4, bloom10] = all.as_slice() else { panic!("three rows") };
    let wasted = |row| number(row, "wasted_reads_per_get");
    // Zero-result lookups alone: every data read is wasted, and without filters there is at least one per get.
    assert_eq!(wasted(none), number(none, "data_reads_per_get"));
    assert!(wasted(none) >= 0.9, "{none}");
    assert!(wasted(bloom4) < wasted(none) / 2.0 && wasted(bloom10) < wasted(bloom4) / 2.0, "{document}");
    assert_eq!(number(none, "filter_bytes"), 0.0);
    let bits = |row| number(row, "filter_bytes") * 8.0 / 20_000.0;
    assert!((3.9..4.5).contains(&bits(bloom4)) && (9.9..10.5).contains(&bits(bloom10)), "{document}");
}

/// The reads are the same in batches as alone, and filters save as many.
#[test]
fn reads_in_batches_are_the_reads_that_are_made_alone() {
    let run = |absent_share: &str, keys: &str| {
        let configs = "--configs none,bloom:10,elastic:10";
        json(&format!("{configs} --absent-share {absent_share} --set multi_get={keys}"))
    };
    let (alone, batches) = (run("1", "1"), run("1", "32"));
    assert_eq!(batches["settings"]["multi_get"], 32);
    for (one, batch) in rows(&alone).iter().zip(&rows(&batches)) {
        let calls = |row: &Value, call: &str| row[format!("calls:{call}")].as_f64();
        assert_eq!((calls(one, "get"), calls(one, "multiget")), (Some(1500.0), None));
        // 750 reads in each round.
        assert_eq!((calls(batch, "get"), calls(batch, "multiget")), (None, Some(48.0)));
        // Keys of a batch in one block are one read, and units are loaded at other moments.
        let [one, batch] = [one, batch].map(|row| number(row, "wasted_reads_per_get"));
        assert!((0.7 * one - 0.2..=one + 0.2).contains(&batch), "{one} alone, {batch} in batches");
    }
    // Which key of a batch a block was read for is not known.
    for row in &rows(&run("0.5", "32")) {
        assert!(row["wasted_reads_per_get"].is_null() && number(row, "data_reads_per_get") > 0.0, "{row}");
    }
    compare("--configs none,elastic:4 --set multi_get=32")
        .assert()
        .success()
        .stdout(contains("workload: get in batches of 32 reads").and(contains("wastes").not()));
    for keys in ["0", "10001", "many"] {
        refused(&mut compare(&format!("--configs none --set multi_get={keys}")), "multi_get");
    }
    refused(&mut compare("--set colour=red"), "colour");
}

#[test]
fn filters_by_level_take_the_memory_of_filters_of_one_size() {
    let configs = "bloom:4,ribbon:4,monkey-bloom:4,monkey-ribbon:4";
    let document = json(&format!("--records 200000 --configs {configs} --absent-share 1 --ops 6000"));
    let all = rows(&document);
    let [bloom, ribbon, monkey, monkey_ribbon] = all.as_slice() else { panic!("four rows") };
    for (by_level, of_one_size) in [(monkey, bloom), (monkey_ribbon, ribbon)] {
        let share = number(by_level, "filter_bytes") / number(of_one_size, "filter_bytes");
        assert!((0.96..1.04).contains(&share), "{by_level} {of_one_size}");
    }
    // Two more bits' worth: the largest level passes 7% of its absent keys instead of 15%.
    let wasted = |row| number(row, "wasted_reads_per_get");
    assert!(wasted(monkey_ribbon) < wasted(monkey) * 0.8, "{document}");
}

#[test]
fn published_systems_run_beside_each_other_at_equal_memory() {
    let configs = "bloom:4,partitioned:10,elasticbf:4,elasticbf-file:4,elastic:4@policy=monkey@units=bloom:6x4,elastic:4";
    let flags = "--records 400000 --ops 6000 --warmup 12000 --absent-share 1";
    let document = json(&format!("--configs {configs} {flags}"));
    let budget = number(&document["settings"], "budget_bytes");
    assert_eq!(budget, 400_000.0 * 4.0 / 8.0);
    let all = rows(&document);
    let row =
        |config: &str| all.iter().find(|row| row["config"] == config).unwrap_or_else(|| panic!("{config}"));
    for config in ["partitioned:10", "elasticbf:4", "elasticbf-file:4", "elastic:4"] {
        let resident = number(row(config), "filter_bytes");
        // A cache of RocksDB may be over its capacity by the block in use.
        assert!(resident > 0.8 * budget && resident < budget + 12_000.0, "{config}: {resident}");
    }
    // Cached filters are read when they are needed.
    let filter_reads = |config| number(row(config), "filter_reads_per_get");
    assert!(filter_reads("partitioned:10") > 0.1, "{document}");
    assert_eq!(filter_reads("elasticbf:4"), 0.0);
    // ElasticBF reads its own units. Without a filter each lookup would waste a read or two. In a tree as small as this one, its
    // bookkeeping costs it more than hot segments gain.
    assert!(number(row("elasticbf:4"), "unit_reads") > 0.0);
    let wasted = |config| number(row(config), "wasted_reads_per_get");
    assert!(wasted("elasticbf:4") < 0.6 && wasted("elasticbf-file:4") < 0.6, "{document}");
    // Of all elastic ones, only Springbloom itself has a prior and units of one bit.
    assert!(wasted("elastic:4") < wasted("elasticbf:4"), "{document}");
    let settings: Vec<_> =
        document["settings"]["own_settings"].as_array().expect("settings").iter().collect();
    assert_eq!(settings.len(), 3, "{settings:?}");
    let published = settings[0].as_str().expect("text");
    let expected =
        "elasticbf:4: units bloom:6x4, segments of 4 MiB, policy multi-queue, segments expire after ";
    assert!(published.starts_with(expected), "{published}");
    assert!(settings[1].as_str().is_some_and(|text| text.contains("segments of 1 TiB")), "{settings:?}");
    assert!(settings[2].as_str().is_some_and(|text| text.contains("policy monkey")), "{settings:?}");
}

#[test]
fn inheritance_can_be_turned_off() {
    let is_off = |text: &Value| text.as_str().expect("settings").ends_with("no inheritance");
    let configs = "--configs elastic:4,elastic:4@inherit_hotness=false";
    let document = json(&format!("{configs} --ops 100 --warmup 0 --workload read=.5,update=.5"));
    let one = &document["settings"];
    assert!(!is_off(&one["elastic"]) && is_off(&one["own_settings"][0]), "{one}");
}

#[test]
fn lifetimes_are_given_in_gets() {
    let settings = |config: &str| {
        let document = json(&format!("--configs {config} --ops 100 --warmup 0"));
        document["settings"]["own_settings"][0].as_str().expect("settings").to_owned()
    };
    let visits = |settings: &str| -> f64 {
        let (_, rest) = settings.split_once("segments expire after ").expect("lifetime");
        rest.split(' ').next().and_then(|visits| visits.parse().ok()).expect("visits")
    };
    // A get asks one to three tables of this tree.
    let gets = visits(&settings("elasticbf:4@segment_lifetime_gets=1000"));
    assert!((1_000.0..3_000.0).contains(&gets), "{gets}");
}

#[test]
fn shares_of_operations_are_given_and_calls_told_apart() {
    let document = json("--configs bloom:10,elasticbf:4 --workload read=.9,update=.1 --absent-share 0.5");
    assert_eq!(document["settings"]["workload"].as_str(), Some("read=0.9,update=0.1"));
    for row in &rows(&document) {
        let calls = |call: &str| row[format!("calls:{call}")].as_f64();
        let (gets, puts) = (calls("get").expect("gets"), calls("put").expect("puts"));
        assert_eq!((gets + puts, calls("scan")), (1500.0, None));
        // Six standard deviations of a tenth of 1,500.
        assert!((80.0..220.0).contains(&puts), "{row}");
        for call in ["get", "put"] {
            assert!(number(row, &format!("call_mean_us:{call}")) > 0.0, "{row}");
        }
    }
    let scans = json("--configs bloom:10,elastic:4 --workload scan=1");
    for row in &rows(&scans) {
        assert!(row["wasted_reads_per_get"].is_null(), "{row}");
        assert_eq!(row["calls:scan"].as_f64(), Some(1500.0));
    }
}

#[test]
fn fresh_absent_keys_are_asked_for_and_not_found() {
    // Answers are verified: a fresh key that exists would end the run. A block cache has what popular keys read again; fresh keys never
    // come back.
    let reads = |absent: &str| {
        let flags = "--configs none --block-cache 256KiB --distribution zipf:2 --threads 2";
        let more = format!("--absent-share 1 --absent {absent} --warmup 6000 --ops 6000");
        let document = json(&format!("{flags} {more}"));
        assert_eq!(document["settings"]["absent"].as_str(), Some(absent));
        number(&rows(&document)[0], "data_reads_per_get")
    };
    let (popular, fresh) = (reads("popular"), reads("fresh"));
    assert!(popular < fresh * 0.5, "{popular} {fresh}");
}

#[test]
fn the_hot_set_moves_as_it_is_asked() {
    let jump = "--configs elastic:4 --set movement=jump:600";
    assert_eq!(json(jump)["settings"]["movement"].as_str(), Some("jump:600"));
    compare(jump).assert().success().stdout(contains("popular keys move: jump:600"));
}

#[test]
fn elastic_filters_stay_within_their_budget() {
    let document = json("--configs elastic:4@policy=uniform --budget 20KiB");
    let resident = number(&rows(&document)[0], "filter_bytes");
    assert!(resident > 0.0 && resident <= 20_480.0, "{resident}");
    assert_eq!(document["settings"]["budget_bytes"].as_u64(), Some(20_480));
}

#[test]
fn one_cache_pays_for_all_memory() {
    const MEMORY_BYTES: f64 = 262_144.0;
    let memory = "--memory-per-key 2.62144 --records 100000";
    let configs = "none,bloom:10,partitioned:10,partitioned:10@index_block_restart_interval=16,\
                   partitioned-ribbon:7@cache_kind=tiered,elastic:8,elastic:auto@index_block_restart_interval=16";
    for kind in ["lru-one-shard", "lru", "hyper-clock"] {
        let document = json(&format!("{memory} --configs {configs} --set cache_kind={kind} --budget 100KiB"));
        let all = rows(&document);
        let [none, bloom, partitioned, small_index, tiered, elastic, auto] = all.as_slice() else {
            panic!("seven rows")
        };
        assert_eq!(document["settings"]["block_cache"]["kind"].as_str(), Some(kind));
        // 12 MB of records with 200 KB of indexes and 125 KB of filters: not all of them fit next to data.
        let index_reads = |row| number(row, "index_reads_per_get");
        for row in [none, bloom, partitioned, tiered] {
            assert!(index_reads(row) > 0.0, "{row}");
        }
        assert!(index_reads(small_index) < index_reads(partitioned), "{small_index} {partitioned}");
        // A lookup that units end asks no index: there may be none.
        assert!(index_reads(elastic) < index_reads(bloom), "{elastic}");
        for row in [partitioned, tiered] {
            assert!(number(row, "filter_reads_per_get") > 0.0, "{row}");
        }
        for row in &all {
            // What is for compressed blocks is set aside in whole pieces.
            assert!(number(row, "memory_bytes") <= MEMORY_BYTES * 1.05, "{row}");
            assert!(number(row, "filter_bytes") <= MEMORY_BYTES, "{row}");
            let parts = ["data", "index", "filter"].map(|kind| number(row, &format!("{kind}_reads_per_get")));
            let reads = number(row, "all_reads_per_get");
            // Those of filter units are in it, too.
            assert!(reads >= parts.iter().sum::<f64>() - 1e-9 && reads > 0.0, "{row}");
        }
        // Filters that are not in partitions stay in the cache.
        for row in [bloom, elastic, auto] {
            assert_eq!(number(row, "filter_reads_per_get"), 0.0, "{row}");
        }
        assert!(number(elastic, "filter_bytes") <= 102_400.0, "{elastic}");
        let wasted = |row| number(row, "wasted_reads_per_get");
        assert!(
            wasted(elastic) < wasted(none) && number(none, "data_reads_per_get") > wasted(none),
            "{document}"
        );
        assert_eq!(document["settings"]["baseline"].as_str(), Some("bloom:10"));
        assert_eq!(number(bloom, "lookups_ratio"), 1.0);
    }
    // The budget is taken from the cache: with it, fewer data blocks stay.
    let reads = |budget: &str| {
        let configs = "--configs elastic:8@policy=uniform --absent-share 0";
        let document = json(&format!("{memory} {configs} --budget {budget}"));
        number(&rows(&document)[0], "data_reads_per_get")
    };
    let (little, much) = (reads("30KiB"), reads("128KiB"));
    assert!(much > little, "{much} {little}");
}

#[test]
fn the_best_stock_configuration_of_the_same_memory_is_named() {
    let configs = "partitioned:10,ribbon:4,ribbon:24,elastic:auto";
    // Filters of 24 bits do not fit next to a block: they are no rivals, whatever they read.
    compare(&format!("--memory-per-key 3 --records 100000 --configs {configs}")).assert().success().stdout(
        contains("all reads")
            .and(contains("times as many blocks as the best stock configuration"))
            .and(contains(", ribbon:24.").not()),
    );
}

#[test]
fn loads_are_compared_in_turns() {
    let document = json("--load-only=3 --set load_records=15000");
    let rows = rows(&document);
    let [bloom, elastic] = rows.as_slice() else { panic!("two configurations: {document}") };
    for row in &rows {
        assert!(number(row, "load_s") > 0.0 && number(row, "load_cpu_s") > 0.0, "{row}");
        // Every record is written at least once, with 100 B of value.
        assert!(number(row, "load_written_bytes") > 15_000.0 * 100.0, "{row}");
    }
    let settings = &document["settings"];
    assert_eq!(
        (settings["baseline"].as_str(), settings["load_records"].as_u64()),
        (Some("bloom:10"), Some(15_000))
    );
    assert_eq!(number(bloom, "load_time_ratio"), 1.0);
    // 16 units of one bit take 6 bits a key more than a Bloom filter of 10: under 1% of such records.
    assert!((0.99..1.05).contains(&number(elastic, "load_written_ratio")), "{elastic}");
}

#[test]
fn every_ycsb_workload_runs_on_several_threads() {
    for workload in ["a", "b", "c", "d", "e", "f"] {
        let document = json(&format!("--configs bloom:10,elastic:6 --workload {workload} --threads 1,3"));
        assert_eq!(rows(&document).len(), 4, "{workload}");
        // E has no gets, and so no rates per get.
        let has_gets = !rows(&document)[0]["data_reads_per_get"].is_null();
        assert_eq!(has_gets, workload != "e", "{workload}");
    }
}

#[test]
fn other_presets_arrange_other_trees() {
    let levels = |preset: &str, records: &str| {
        let document = json(&format!("--preset {preset} --records {records} --configs bloom:4 --ops 100"));
        document["settings"]["tree"].as_str().expect("tree").to_owned()
    };
    let leveldb = levels("leveldb", "600000");
    assert!(leveldb.starts_with("L0 12, L"), "{leveldb}");
    let smaller = levels("leveldb-2mib", "600000");
    assert!(smaller.starts_with("L0 12, L") && smaller != leveldb, "{smaller}");
    let small = levels("small", "100000");
    assert!(!small.contains("L0") && small.contains("L1"), "{small}");
}

#[test]
fn keys_of_a_file_are_used() {
    let folder = tempfile::tempdir().expect("folder");
    let keys = folder.path().join("keys");
    let lines: Vec<String> = (0..3_000).map(|i| format!("/usr/lib/package-{}/file-{i}.so", i % 91)).collect();
    std::fs::write(&keys, lines.join("\n")).expect("write");
    let path = keys.to_str().expect("path");
    let document = json(&format!("--keys {path} --configs none,elastic:8"));
    assert_eq!(document["settings"]["records"].as_u64(), Some(3_000));
    let with_keys = |flags: &str| compare(&format!("--keys {path} --configs none {flags}"));
    refused(&mut with_keys("--workload d"), "inserts records");
    refused(&mut with_keys("--absent fresh"), "too few absent keys");
}

#[test]
fn the_table_is_on_standard_output_and_progress_is_not() {
    let output = compare("--configs none,bloom:10,elastic:10").output().expect("run");
    let (table, progress) =
        (String::from_utf8(output.stdout).expect("text"), String::from_utf8(output.stderr).expect("text"));
    assert!(output.status.success(), "{progress}");
    for part in ["wasted reads", "bloom:10", "seed 1", "elastic:10 wastes", "bloom:10 with"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    assert!(!table.contains("loading") && progress.contains("loading 20000 records"), "{table}{progress}");
    let widest = table.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{widest:?}: {table}");
}

#[test]
fn bad_input_is_refused_with_exit_code_2() {
    for (arguments, message) in [
        ("--configs cuckoo:8", "expected none, bloom:BITS"),
        ("--configs bloom:4,bloom:4", "bloom:4 is given twice"),
        ("--configs bloom:4@cache", "others are settings of elastic filters"),
        ("--configs ribbon:4@policy=monkey", "others are settings of elastic filters"),
        ("--threads 2,2", "--threads: 2 is given twice"),
        ("--ops -1", "expected a whole number from 1 to 1000000000000"),
        ("--seed -7", "expected a whole number of at least 0"),
        ("--budget -1", "expected a size"),
        ("--budget -4K", "invalid value '-4K' for '--budget <SIZE>': expected a size"),
        ("--configs elastic:4@cache", "expected a setting as NAME=VALUE"),
        ("--configs elastic:4@colour=red", "colour: unknown setting, expected one of budget"),
        ("--configs elasticbf:4@policy=guess", "policy: got \"guess\", expected one of uniform"),
        ("--configs elastic:4@budget=1M", "expected the budget as bits per key"),
        ("--configs elasticbf:4@segment_lifetime_gets=0", "expected a number of gets of at least 1"),
        ("--workload read=.9", "expected shares that sum to 1"),
        ("--configs bloom:-1", "bits per key"),
        ("--preset huge", "invalid value 'huge'"),
        ("--workload g", "unknown workload"),
        ("--distribution zipf:-1", "for '--distribution <DISTRIBUTION>'"),
        ("--absent-share 1.5", "for '--absent-share <SHARE>': expected a number from 0 to 1"),
        ("--distribution pareto", "unknown distribution"),
        ("--absent new", "[possible values: popular, fresh]"),
        ("--set movement=jump:0", "expected none, jump:LOOKUPS"),
        ("--budget 257T", "expected 0 B to 256 TiB"),
        ("--value-bytes 3", "expected a whole number from 12 to 16777216"),
        ("--threads 0", "--threads"),
        ("--budget many", "expected a size"),
        ("--configs elastic:4@=1", "expected a setting as NAME=VALUE after @"),
        ("--dir /proc/version", "/proc/version is a file: expected a folder"),
        ("--configs elastic:4@units=ribbon:0", "ribbon:0"),
        ("--configs elastic:4@segment_size=1", "segment_size"),
        ("--keys /nonexistent/keys", "/nonexistent/keys"),
        ("--reuse", "--dir"),
        ("--dir /proc/springbloom", "cannot create /proc/springbloom"),
        ("--dir /proc/no/such/springbloom", "there is no folder /proc/no/such; make it first"),
        ("--records 1000000000000", "free, but about"),
        ("--load-only=0", "expected a whole number from 1"),
        ("--load-only --ops 8", "'--load-only[=<ROUNDS>]' cannot be used with '--ops"),
        ("--memory-per-key 2 --block-cache 1MiB", "cannot be used with"),
        ("--memory-per-key 0", "expected a number from 0.01"),
        ("--memory-per-key 1 --records 1000", "have no room for a block, expected at least 4 KiB"),
        (
            "--memory-per-key 0.4 --records 20000 --configs bloom:4,elastic:4",
            "the budget of elastic:4, 9.77 KiB, is charged to a block cache of 7.81 KiB, half of which stays for blocks",
        ),
        ("--configs ribbon:4@block_size=many", "ribbon:4@block_size=many"),
        ("--configs ribbon:4@index=pinned", "expected block_size, index_block_restart_interval"),
        ("--block-cache 1MiB --set cache_kind=fifo", "hyper-clock"),
    ] {
        refused(&mut compare(arguments), message);
    }
}

#[test]
fn a_report_that_cannot_be_written_is_told() {
    let arguments =
        "compare --set buffered --records 2000 --value-bytes 100 --configs none --ops 100 --warmup 10";
    let output = std::process::Command::new(assert_cmd::cargo::cargo_bin("springbloom"))
        .args(format!("{arguments} --rounds 1").split(' '))
        .stdout(std::fs::File::options().write(true).open("/dev/full").expect("a full device"))
        .output()
        .expect("the program");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("cannot write to standard output: No space left"), "{message}");
}

#[test]
fn a_comparison_without_space_leaves_no_folder() {
    let folder = tempfile::tempdir().expect("folder");
    let dir = folder.path().join("new");
    refused(&mut kept(&dir, "--records 1000000000000"), "free, but about");
    assert!(!dir.exists());
    std::fs::create_dir(&dir).expect("folder");
    kept(&dir, "--records 1000000000000").assert().code(2);
    assert!(dir.exists(), "it was there before");
}

#[test]
fn digests_that_threads_do_not_count_are_not_reported_as_none() {
    let document = json("--configs elastic:6 --threads 1,64");
    let digests: Vec<_> = rows(&document).iter().map(|row| row["digests_per_get"].is_null()).collect();
    assert_eq!(digests, [false, true]);
}

#[test]
fn long_values_are_not_repeated_whole() {
    let long = "9".repeat(100_000);
    for flag in ["--ops", "--budget", "--records"] {
        let refused = compare(&format!("{flag} {long}")).assert().code(2);
        let message = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
        assert!(message.contains("999...") && message.len() < 500, "{message}");
    }
}

#[test]
fn one_comparison_at_a_time_has_a_folder() {
    let dir = tempfile::tempdir().expect("folder");
    let folder = std::fs::File::open(dir.path()).expect("folder");
    rustix::fs::flock(&folder, rustix::fs::FlockOperation::LockExclusive).expect("locked");
    kept(dir.path(), "--configs none")
        .assert()
        .code(2)
        .stderr(contains("in use by another springbloom compare"));
    drop(folder);
    kept(dir.path(), "--configs none").assert().success();
}

#[test]
fn a_signal_leaves_no_databases() {
    let temporary = tempfile::tempdir().expect("folder");
    let entries = || std::fs::read_dir(temporary.path()).expect("folder").count();
    for signal in ["TERM", "INT"] {
        // A signal that the tests ignore, as under nohup, would be ignored by the program, too.
        let mut child = std::process::Command::new("env")
            .arg("--default-signal")
            .arg(assert_cmd::cargo::cargo_bin("springbloom"))
            .args("compare --set buffered --records 200000 --configs bloom:10 --ops 1000000000".split(' '))
            .env("TMPDIR", temporary.path())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("the program");
        let has_begun = || entries() > 0;
        while !has_begun() {
            assert!(child.try_wait().expect("a child").is_none(), "it ended by itself");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let sent = std::process::Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
        assert!(sent.expect("kill").success());
        let status = child.wait().expect("it ends");
        assert_eq!(status.code(), None, "a signal ended it: {status}");
        assert_eq!(entries(), 0, "{signal}");
    }
}

fn kept(dir: &Path, arguments: &str) -> Command {
    compare(&format!("{arguments} --dir {}", dir.to_str().expect("text")))
}

#[test]
fn kept_databases_are_reused_with_the_same_settings_only() {
    let folder = tempfile::tempdir().expect("folder");
    let dir = folder.path().join("databases");
    let configs = "--configs bloom:4,elastic:4";
    kept(&dir, configs).assert().success();
    refused(&mut kept(&dir, configs), "--reuse");
    // More configurations may be added, and what is not in the databases may change.
    kept(&dir, "--reuse --configs bloom:4,elastic:4,none --distribution zipf:1.2 --workload a")
        .assert()
        .success()
        .stderr(contains("writing tables with none").and(contains("writing tables with bloom:4").not()));
    // What a workload wrote is gone.
    kept(&dir, "--reuse --configs bloom:4,elastic:4,none").assert().success();
    refused(&mut kept(&dir, "--reuse --configs bloom:4 --seed 2"), "seed is 1, asked for is 2");
    refused(
        &mut kept(&dir, "--reuse --configs bloom:4 --preset leveldb"),
        "write_buffer_bytes is 1048576, asked for is 4194304",
    );
    // Elastic filters with other segments are another database.
    kept(&dir, "--reuse --configs elastic:4@segment_size=64KiB")
        .assert()
        .success()
        .stderr(contains("writing tables with elastic:4@segment_size=64KiB"));
    std::fs::write(dir.join("tree.json"), "{").expect("damage");
    refused(&mut kept(&dir, "--reuse"), "tree.json is damaged");
}

/// Makes the filter blocks of a database those of a later version of the format.
fn make_newer(database: &Path) {
    const MAGIC: &[u8] = b"SpgBloom";
    for entry in std::fs::read_dir(database).expect("database") {
        let path = entry.expect("entry").path();
        if path.extension().is_some_and(|extension| extension == "sst") {
            let mut table = std::fs::read(&path).expect("table");
            let block = table.windows(MAGIC.len()).position(|bytes| bytes == MAGIC).expect("filter block");
            table[block + MAGIC.len()..][..2].copy_from_slice(&u16::MAX.to_le_bytes());
            std::fs::write(&path, table).expect("table");
        }
    }
}

#[test]
fn units_of_a_newer_version_are_not_measured_as_no_filters() {
    let folder = tempfile::tempdir().expect("folder");
    kept(folder.path(), "--configs elastic:4").assert().success();
    let databases =
        std::fs::read_dir(folder.path()).expect("folder").map(|entry| entry.expect("entry").path());
    databases
        .filter(|path| path.join("CURRENT").is_file() && !path.ends_with("tree"))
        .for_each(|path| make_newer(&path));
    kept(folder.path(), "--configs elastic:4 --reuse")
        .assert()
        .code(2)
        .stderr(contains("version 65535 is newer than").and(contains("another --dir")));
}

#[test]
fn an_interrupted_build_is_done_again() {
    let folder = tempfile::tempdir().expect("folder");
    let dir = folder.path();
    kept(dir, "--configs bloom:4").assert().success();
    // As after an interruption: databases are there, and marked as not finished.
    let interrupt = |name: &str| {
        std::fs::write(dir.join(name).with_extension("unfinished"), "").expect("a mark");
    };
    interrupt("bloom-4");
    kept(dir, "--reuse --configs bloom:4").assert().success().stderr(contains("writing tables with bloom:4"));
    interrupt("tree");
    std::fs::remove_file(dir.join("tree.json")).expect("manifest");
    interrupt("bloom-4");
    kept(dir, "--configs bloom:4").assert().success().stderr(contains("loading 20000 records"));
}

#[test]
fn what_no_run_left_is_not_removed() {
    let folder = tempfile::tempdir().expect("folder");
    for name in ["tree", "bloom-4"] {
        let dir = folder.path().join(format!("with-{name}"));
        let file = dir.join(name).join("mine");
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("folder");
        std::fs::write(&file, "mine").expect("file");
        let run = kept(&dir, "--configs bloom:4").assert().code(2);
        run.stderr(contains("not left by an interrupted run").and(contains("another --dir")));
        assert!(file.exists(), "{name}");
    }
}

/// A trace of deduplication: each of 6,000 keys is looked up and then put, and one before it is looked up again. Some are deleted.
fn trace() -> String {
    let mut lines = String::from("# looked up, then put\n");
    for n in 0..6000u64 {
        let key = |n: u64| format!("{:016x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        lines += &format!("get,{0}\nput,0x{1}\nget,{2}\n", key(n), hexadecimal(&key(n)), key(n / 2));
        if n % 10 == 9 {
            lines += &format!("delete,{0}\nget,{0}\nseek,{0}\n", key(n));
        }
    }
    lines
}

fn hexadecimal(key: &str) -> String {
    key.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// A comparison that replays a trace.
fn replay(trace: &Path, arguments: &str) -> Command {
    let trace = trace.to_str().expect("text");
    springbloom(&format!("compare --set buffered --value-bytes 100 --trace {trace} {arguments}"))
}

#[test]
fn a_trace_is_replayed_and_its_answers_are_verified() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("dedup.trace");
    std::fs::write(&path, trace()).expect("trace");
    for threads in ["1", "3"] {
        let arguments = format!("--configs none,bloom:10,elastic:6 --threads {threads} --budget 64KiB");
        let document = common::json(&mut replay(&path, &arguments));
        let settings = &document["settings"];
        assert_eq!(
            (&settings["workload"], &settings["load_ops"]),
            (&"trace dedup.trace".into(), &9900.into())
        );
        // 19,800 operations: a half fills the databases, a quarter warms up. In the last one, 33 operations of 10 keys have
        // 21 gets, of which 12 are for absent keys: 10 that are put later, and two that were deleted.
        let absent = number(settings, "absent_share");
        assert!((absent - 12.0 / 21.0).abs() < 0.03, "{settings}");
        // Each thread has keys of its own, which have not equally many operations. Together they do all.
        for row in &rows(&document) {
            assert_eq!(calls(row), number(settings, "ops"));
            for (call, of_33) in [("get", 21.0), ("put", 10.0), ("delete", 1.0), ("scan", 1.0)] {
                let share = number(row, &format!("calls:{call}")) / calls(row);
                assert!((share - of_33 / 33.0).abs() < 0.01, "{call}: {row}");
            }
        }
        let wasted = |config: &str| {
            let rows = rows(&document);
            number(rows.iter().find(|row| row["config"] == config).expect(config), "wasted_reads_per_get")
        };
        assert!(wasted("none") > 0.3 && wasted("bloom:10") < 0.05, "{document}");
    }
}

#[test]
fn keys_from_before_a_trace_are_there() {
    let folder = tempfile::tempdir().expect("folder");
    let [path, keys] = ["reads.trace", "keys"].map(|name| folder.path().join(name));
    let key = |n: u32| format!("key{:08}", n.wrapping_mul(2_654_435_761) % 100_000_000);
    let lines = |count, line: &dyn Fn(u32) -> String| (0..count).map(|n| line(n) + "\n").collect::<String>();
    std::fs::write(&path, lines(3000, &|n| format!("get,{}", key(n)))).expect("trace");
    std::fs::write(&keys, lines(1500, &|n| format!("0x{}", hexadecimal(&key(n * 2))))).expect("keys");
    let keys = keys.to_str().expect("name");
    let document = common::json(&mut replay(&path, &format!("--configs bloom:10 --keys {keys}")));
    assert_eq!(document["settings"]["load_ops"], 0);
    assert_eq!(
        (document["settings"]["records"].as_u64(), document["settings"]["absent_share"].as_f64()),
        (Some(1500), Some(0.5))
    );
    // Alone, the trace leaves nothing to load.
    refused(&mut replay(&path, "--configs bloom:10"), "--keys");
}

#[test]
fn bad_traces_are_refused() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("bad.trace");
    for (text, error) in [
        ("put,a\nfetch,b\n", "line 2: got \"fetch,b\", expected get, put, delete or seek"),
        ("", "got no operation"),
        ("put,a\nget,a\nput,b\n", "record more"),
    ] {
        std::fs::write(&path, text).expect("trace");
        refused(&mut replay(&path, "--configs bloom:10"), error);
    }
    for arguments in ["--distribution zipf:0.9", "--workload a", "--records 1000", "--hot-key-seeds 2"] {
        refused(&mut replay(&path, arguments), "cannot be used with");
    }
    std::fs::write(&path, "put,a\nput,b\n".repeat(500) + &"get,c\n".repeat(1000)).expect("trace");
    let keys = folder.path().join("keys");
    for (listed, error) in [("", "lists no key"), ("x\n\n0xabc\n", "line 3")] {
        std::fs::write(&keys, listed).expect("keys");
        refused(replay(&path, "--configs bloom:10 --keys").arg(&keys), error);
    }
    refused(&mut replay(&path, "--threads 1,2"), "one number");
}

#[test]
fn a_trace_that_tells_little_is_replayed_with_a_warning() {
    let folder = tempfile::tempdir().expect("folder");
    let [path, keys] = ["one.trace", "keys"].map(|name| folder.path().join(name));
    let run = |text: &str, arguments: &str| {
        std::fs::write(&path, text).expect("trace");
        let run = replay(&path, &format!("--configs none,elastic:4 {arguments}")).assert().success();
        let output = run.get_output();
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    };
    let [table, told] = run(&("put,hot\n".repeat(100) + &"get,hot\n".repeat(900)), "");
    assert!(table.contains("elastic:4 had no filter in memory: its budget has no room"), "{table}");
    assert!(!told.contains("one.trace: "), "{told}");
    let [_, told] = run(&"put,hot\nseek,hot\n".repeat(500), "");
    assert!(told.contains("looks nothing up"), "{told}");
    let listed: String = (0..1000).map(|n| format!("other{n}\n")).collect();
    std::fs::write(&keys, listed).expect("keys");
    let [_, told] = run(&"get,hot\n".repeat(900), &format!("--keys {}", keys.display()));
    assert!(told.contains("no lookup is for a key of") && told.contains("in the same form"), "{told}");
    // Keys of no byte and of a megabyte.
    let long = "k".repeat(1 << 20);
    let [_, told] = run(&format!("put,0x\nput,{long}\nget,0x\nget,{long}\n").repeat(10), "");
    assert!(!told.contains("one.trace: "), "{told}");
}

#[test]
fn a_trace_and_keys_come_through_a_pipe() {
    let folder = tempfile::tempdir().expect("folder");
    std::fs::write(folder.path().join("trace"), trace()).expect("trace");
    let keys: String = (0..3000).map(|n| format!("key{n:06}\n")).collect();
    std::fs::write(folder.path().join("keys"), keys).expect("keys");
    let compare = "compare --set buffered --value-bytes 100 --configs none --ops 300 --warmup 0";
    for input in ["--trace <(cat trace)", "--keys <(cat keys)", "--trace <(cat trace) --keys <(cat keys)"] {
        // A pipe that is opened again would be waited for.
        let line = format!(
            "mkfifo pipe; cat trace > pipe & timeout 60 \"$0\" {compare} --trace pipe && \"$0\" {compare} {input}"
        );
        let output = std::process::Command::new("bash")
            .args(["-c", &line])
            .arg(assert_cmd::cargo::cargo_bin("springbloom"))
            .current_dir(folder.path())
            .output()
            .expect("bash");
        assert!(output.status.success(), "{input}: {}", String::from_utf8_lossy(&output.stderr));
        std::fs::remove_file(folder.path().join("pipe")).expect("pipe");
    }
}
