//! `springbloom compare` on several column families, on tiny databases.

use assert_cmd::Command;
use serde_json::Value;

use crate::common::{json, refused, springbloom};

fn compare(arguments: &[&str]) -> Command {
    let flags = "--set buffered --records 10000 --ops 20000 --warmup 20000 --rounds 2";
    let mut command = springbloom(&format!("compare --preset families {flags}"));
    command.args(arguments);
    command
}

fn figure(document: &Value, config: &str, field: &str) -> f64 {
    let figures = document["figures"].as_array().expect("figures");
    let figure = figures.iter().find(|figure| figure["of"]["config"] == config && figure["name"] == field);
    figure.and_then(|figure| figure["value"].as_f64()).unwrap_or_else(|| panic!("{field} of {config}"))
}

/// The budget goes to the family whose lookups need filters, in one database and in several.
#[test]
fn one_family_of_absent_keys_gets_the_memory() {
    let filters = ["none", "ribbon:4", "ribbon:11/3", "elastic:4"];
    for layout in [&[][..], &["--set", "family_databases"]] {
        let configs = filters.join(",");
        let arguments = ["--configs", &configs, "--set", "family_absent=1/0", "--block-cache", "2MiB"];
        let document = json(&mut compare(&[&arguments, layout].concat()));
        assert_eq!(document["settings"]["records"], 80_000);
        assert_eq!(document["settings"]["families"], 8);
        assert_eq!(document["settings"]["family_databases"], !layout.is_empty());
        let [wasted, memory, reads] = ["wasted_reads_per_get", "filter_bytes", "data_reads_per_get"]
            .map(|name| filters.map(|config| figure(&document, config, name)));
        let [none, equal, by_hand, elastic] = wasted;
        assert!(none > 0.03 && equal > 0.003, "{document}");
        assert!(elastic < equal / 2.0 && by_hand < equal, "{document}");
        let [_, equal, by_hand, elastic] = memory;
        assert!((0.9..1.1).contains(&(by_hand / equal)) && elastic <= 1.05 * equal, "{document}");
        assert!(reads[3] <= reads[1], "{document}");
    }
}

#[test]
fn traffic_is_shared_as_it_is_asked() {
    let families = ["--set", "families=3", "--set", "family_traffic=halving"];
    let document = json(compare(&["--configs", "elastic:4"]).args(families));
    let traffic: Vec<f64> =
        serde_json::from_value(document["settings"]["family_traffic"].clone()).expect("shares");
    assert_eq!(traffic, [4.0 / 7.0, 2.0 / 7.0, 1.0 / 7.0]);
    assert_eq!(document["settings"]["absent_share"], 0.5);
}

#[test]
fn what_families_cannot_have_is_refused_with_exit_code_2() {
    for (arguments, message) in [
        (&["--set", "families=0"][..], "'0' for '--set families=<FAMILIES>'"),
        (&["--set", "families=1", "--set", "family_absent=1"], "there is one column family"),
        (&["--set", "families=1", "--configs", "ribbon:4/2"], "there is one column family"),
        (&["--set", "family_absent=2"], "expected shares of at most 1, got 2"),
        (&["--set", "family_absent=x"], "expected shares of at least 0"),
        (&["--set", "family_traffic=0"], "expected a share above 0"),
        (&["--set", "families=2", "--set", "family_traffic=1/2/3"], "3 values are given for 2"),
        (&["--set", "families=2", "--set", "family_absent=1/0/0"], "3 values are given for 2"),
        (&["--set", "families=2", "--configs", "ribbon:3/2/1"], "3 values are given for 2"),
        (&["--set", "family_traffic=half"], "expected equal, halving or shares"),
        (&["--workload", "a"], "expected no other --workload"),
        (&["--set", "multi_get=8"], "--set multi_get or --set movement"),
        (&["--configs", "partitioned:10"], "cannot share its cache for filters"),
        (&["--configs", "ribbon:0/0"], "no family has a filter: expected more than 0"),
    ] {
        refused(&mut compare(arguments), message);
    }
}
