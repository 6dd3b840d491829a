//! `springbloom advise` on a database that `compare` made and read.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::common::{json, refused, springbloom};

#[test]
fn advice_follows_what_was_measured_and_is_told() {
    let folder = tempfile::tempdir().expect("folder");
    let compare = "compare --set buffered --records 100000 --value-bytes 100 --ops 30000 --warmup 30000";
    let configs = "bloom:10,elastic:4@segment_size=256KiB";
    springbloom(compare).args(["--configs", configs, "--dir"]).arg(folder.path()).assert().success();
    let db = std::fs::read_dir(folder.path())
        .expect("folder")
        .map(|entry| entry.expect("entry").path())
        .find(|path| path.is_dir() && path.to_string_lossy().contains("elastic-4"))
        .expect("the database");
    let advise = |arguments: &[&str]| json(springbloom("advise").arg(&db).args(arguments));
    let report = advise(&["--target", "0.01"]);
    let advice = &report["measured"];
    let wasted = |point: &Value| point["wasted_reads"].as_f64().expect("number");
    let steps: Vec<_> = advice["steps"].as_array().expect("an array").iter().map(wasted).collect();
    assert_eq!(steps.len(), 9);
    assert!(steps.is_sorted_by(|a, b| a >= b) && steps[0] > 2.0 * steps[4], "{advice}");
    let [now, all] = ["now", "all"].map(|name| wasted(&advice[name]));
    assert!(now == steps[4] && now > all, "{advice}");
    assert!(now > 0.0 && now < 0.5, "half of the lookups are for absent keys: {advice}");
    assert_eq!(advice["remembered_tables"], advice["tables"]);
    assert_eq!(report["database"]["tables_with_units"], advice["tables"]);
    let target = advice["target_budget_bytes"].as_u64().expect("the target can be reached");
    let reached = wasted(&advise(&["--budget", &target.to_string()])["measured"]["now"]);
    assert!((reached - 0.01).abs() < 1e-4, "{reached}");

    let text = contains("wasted reads per lookup").and(contains("now"));
    springbloom("advise").arg(&db).assert().success().stdout(text);

    let stock = folder.path().join("bloom-10");
    for flag in [&["--target", "0.1"][..], &["--budget", "1MiB"]] {
        let said = contains("remembers no use").and(contains(flag[0]));
        springbloom("advise").arg(&stock).args(flag).assert().code(2).stdout("").stderr(said);
    }
    springbloom("advise").arg(&stock).assert().success().stdout(contains("need it"));
    refused(springbloom("advise").arg(folder.path()), "not a RocksDB database");
}
