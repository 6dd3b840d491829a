//! `springbloom simulate` as its users call it.

use assert_cmd::Command;
use predicates::str::contains;
use serde_json::Value;

use crate::common::{self, springbloom};

fn simulate(arguments: &str) -> Command {
    springbloom(&format!("simulate {arguments}"))
}

fn json(arguments: &str) -> Value {
    common::json(&mut simulate(arguments))
}

fn wasted(document: &Value, filter: &str, bits: f64) -> f64 {
    figure(document, "wasted_reads_per_get", filter, bits, &Value::Null)
}

fn figure(document: &Value, name: &str, filter: &str, bits: f64, family: &Value) -> f64 {
    let figures = document["figures"].as_array().expect("figures");
    let is_it = |figure: &&Value| {
        let of = &figure["of"];
        figure["name"] == name
            && of["config"] == filter
            && of["bits_per_key"].as_str().is_some_and(|text| text.parse() == Ok(bits))
            && of["family"] == *family
    };
    figures.iter().find(is_it).expect(name)["value"].as_f64().expect("a number")
}

#[test]
fn more_memory_wastes_fewer_reads_under_every_filter() {
    let document = json(
        "--tree leveldb --records 400K --segment-size 1MiB --table-bytes 4MiB --bits 4,10 --segments 400",
    );
    for name in "uniform monkey multi-queue benefit ribbon monkey-ribbon at-compaction optimum".split(' ') {
        let (little, much) = (wasted(&document, name, 4.0), wasted(&document, name, 10.0));
        assert!(much < little / 3.0, "{name}: {little} with 4 bits, {much} with 10");
    }
    assert!(wasted(&document, "benefit", 4.0) < wasted(&document, "uniform", 4.0), "{document:#}");
    assert_eq!(document["settings"]["simulated_share"], 1.0);
}

#[test]
fn a_sample_wastes_as_much_as_all() {
    let tree = "--records 4M --segment-size 1MiB --table-bytes 4MiB --bits 4 --filters benefit,optimum --hot-key-seeds 3";
    let all = json(&format!("{tree} --segments 4000"));
    let sample = json(&format!("{tree} --segments 600"));
    assert_eq!(all["settings"]["simulated_share"], 1.0);
    assert!(sample["settings"]["simulated_share"].as_f64().is_some_and(|share| share < 0.2));
    for filter in ["benefit", "optimum"] {
        let ratio = wasted(&sample, filter, 4.0) / wasted(&all, filter, 4.0);
        assert!((0.75..1.33).contains(&ratio), "{filter}: a sample wastes {ratio} times as much as all");
    }
}

#[test]
fn a_hundred_terabytes_take_no_more_time() {
    let arguments = "--records 100G --segments 100 --lookups 5000 --bits 2,4 --filters benefit,monkey-ribbon";
    simulate(arguments).assert().success().stdout(contains("no store was run"));
}

const FAMILIES: &str = "--runs 1MiB,4MiB,40MiB --record-bytes 200 --segment-size 1MiB --table-bytes 4MiB --lookups 40000 \
    --set families=8";

/// The budget goes to the family whose lookups need filters.
#[test]
fn one_family_of_absent_keys_gets_the_memory() {
    let filters = "benefit,ribbon,monkey-ribbon,ribbon:11/3,ribbon:13/0,optimum";
    let document = json(&format!("{FAMILIES} --set family_absent=1/0 --bits 4 --filters {filters}"));
    let settings = &document["settings"];
    assert_eq!((settings["families"].as_u64(), settings["records"].as_u64()), (Some(8), Some(1_887_440)));
    assert_eq!(settings["absent_share"], 0.125);
    let [elastic, equal, by_level] =
        ["benefit", "ribbon", "monkey-ribbon"].map(|filter| wasted(&document, filter, 4.0));
    assert!(elastic < equal / 2.0 && elastic < by_level, "{elastic} {equal} {by_level}");
    // The memory of filters by hand has all others, too.
    assert!(wasted(&document, "ribbon", 1.625) > equal);
    assert!(wasted(&document, "ribbon:13/0", 1.625) > 0.0);
    let of = |filter: &str, family: usize, name: &str| {
        figure(&document, name, filter, 4.0, &(family + 1).to_string().into())
    };
    let memory = |filter, family| of(filter, family, "family_bits_per_key");
    for filter in ["benefit", "optimum"] {
        assert!(memory(filter, 0) > memory(filter, 1), "{document:#}");
    }
    let [first, last] = [0, 7].map(|family| memory("ribbon:11/3", family));
    assert!((first - 11.0).abs() < 1e-6 && (last - 3.0).abs() < 1e-6, "{first} {last}");
    let [by_hand, equal] =
        ["ribbon:11/3", "ribbon"].map(|filter| of(filter, 0, "family_wasted_reads_per_get"));
    assert!(by_hand < equal / 10.0, "{by_hand} {equal}");
}

#[test]
fn families_have_their_traffic_and_a_line_each() {
    let arguments = format!("{FAMILIES} --bits 4 --filters benefit,ribbon:11/3 --set family_traffic=halving");
    let pattern = |text| predicates::str::is_match(text).expect("a pattern");
    simulate(&arguments)
        .assert()
        .success()
        .stdout(contains("in each of 8 column families a given tree"))
        .stdout(pattern(r"\n *1 +50.2% +50.0% +[0-9.]+ \([0-9.]+\) +[0-9.]+ \(11\.0\)"))
        .stdout(pattern(r"\n *8 +0.4% +50.0% +[0-9.]+ \([0-9.]+\) +[0-9.]+ \(3\.0\)"));
    let document = json(&arguments.replace("families=8", "families=3"));
    assert_eq!(document["settings"]["family_traffic"], serde_json::json!([4.0 / 7.0, 2.0 / 7.0, 1.0 / 7.0]));
    assert_eq!(document["settings"]["family_absent"], serde_json::json!([0.5, 0.5, 0.5]));
    let one = json("--records 60K --bits 4 --filters benefit");
    assert!(
        one["settings"]["family_traffic"].is_null() && one["figures"].as_array().map(Vec::len) == Some(1),
        "{one}"
    );
}

#[test]
fn what_families_cannot_have_is_refused() {
    for (arguments, message) in [
        ("--set families=0", "--set families="),
        ("--set families=257", "--set families="),
        ("--set family=2", "unexpected argument '--set family' found"),
        ("--set families=1 --set family_absent=1", "family_absent: there is one column family"),
        ("--set family_traffic=halving", "there is one column family: give --set families"),
        ("--filters ribbon:4/2", "ribbon:4/2: there is one column family: give --set families"),
        ("--set families=2 --set family_absent=2", "expected shares of at most 1, got 2"),
        ("--set families=2 --set family_absent=x", "expected shares of at least 0"),
        ("--set families=2 --set family_traffic=0", "expected a share above 0"),
        ("--set families=2 --set family_traffic=half", "expected equal, halving or shares"),
        ("--set families=2 --set movement=jump:1000", "--set movement: expected one column family"),
        ("--set families=2 --filters ribbon:0/0", "no family has a filter: expected more than 0"),
        ("--set families=2 --filters ribbon:4/2/0", "ribbon:4/2/0: 3 values are given for 2 column families"),
        ("--set families=2 --filters ribbon:4", "or ribbon:BITS/BITS; got \"ribbon:4\""),
        (
            "--set families=100",
            "--segments 2000: expected at least 5000, which are 50 for each of 100 column families",
        ),
    ] {
        simulate(arguments).assert().code(2).stdout("").stderr(contains(message));
    }
}

#[test]
fn sorted_runs_can_be_given() {
    let document =
        json("--runs 8MiB,80MiB --segment-size 1MiB --lookups 5000 --bits 4 --filters monkey-ribbon");
    assert_eq!(document["settings"]["run_bytes"], serde_json::json!([8 << 20, 80 << 20]));
    assert_eq!(document["settings"]["records"], 92_275);
}

#[test]
fn bad_input_is_named() {
    for (arguments, message) in [
        ("--records 5", "expected a whole number from 1000 to 1000000000000000"),
        ("--records 1e18", "expected a whole number from 1000 to 1000000000000000"),
        ("--records -1", "expected a whole number from 1000 to 1000000000000000"),
        ("--bits 4,2,4", "--bits: 4 is given twice"),
        ("--filters bloom,benefit,bloom", "--filters: bloom is given twice"),
        ("--distribution latest:0.99", "nothing is inserted in a simulation"),
        ("--runs 0", "expected 1 B to"),
        ("--filters best", "expected one of uniform"),
        ("--bits 0", "expected a number from 0.01 to 100"),
        ("--record-bytes 128MiB", "expected at most the size of a table"),
        ("--runs 1K", "got 1 records of 1000 B in 1 sorted runs, expected 1000 to"),
        ("--runs 1GiB --records 1G", "cannot be used with"),
        ("--distribution zipf:-1", "Zipf constant"),
        ("--segments 1", "50"),
    ] {
        simulate(arguments).assert().code(2).stderr(contains(message));
    }
    // Records of which a segment has few: the bookkeeping alone takes more than the budget.
    simulate("--records 10K --record-bytes 1MiB --bits 0.1 --filters benefit --lookups 1000")
        .assert()
        .success()
        .stdout(contains("no room"));
}
