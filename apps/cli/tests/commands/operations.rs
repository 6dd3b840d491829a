//! The alerts in `operations/` and the page for operators name metrics and labels that the host exports.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use rocksdb::{DB, Options};
use serde_json::Value;
use springbloom_rocksdb::ElasticFilters;

fn file(name: &str) -> String {
    let path = Path::new("../../operations").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Names of all samples that a program with a database exports, each with the labels and values that it was seen with.
fn exported() -> BTreeMap<String, BTreeMap<String, BTreeSet<String>>> {
    let folder = tempfile::tempdir().expect("a folder");
    let elastic = ElasticFilters::builder().build().expect("settings");
    let mut options = Options::default();
    options.create_if_missing(true);
    elastic.install(&mut options).expect("install");
    let db = DB::open(&options, folder.path()).expect("open");
    (0..1000u32).for_each(|number| db.put(number.to_be_bytes(), b"value").expect("put"));
    db.flush().expect("flush");
    let text = elastic.metrics_text();
    let mut found: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().expect("a name");
        let labels = found.entry(name.to_owned()).or_default();
        // No value of this database has a comma in it.
        let inside =
            line.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map_or("", |(inside, _)| inside);
        for (label, value) in inside.split(',').filter_map(|pair| pair.split_once('=')) {
            labels.entry(label.to_owned()).or_default().insert(value.trim_matches('"').to_owned());
        }
    }
    found
}

/// Words of an expression of Prometheus, and strings in quotes.
fn words(expression: &str) -> Vec<&str> {
    expression
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
        .collect()
}

/// Fails unless all metrics of the expression are exported, and have the labels that it asks for. `by_server`: labels that Prometheus adds.
fn check(
    expression: &str,
    exported: &BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
    by_server: &[&str],
) {
    let metrics: Vec<_> =
        words(expression).into_iter().filter(|word| word.starts_with("springbloom_")).collect();
    assert!(!metrics.is_empty(), "{expression} asks for no metric of Springbloom");
    for metric in &metrics {
        assert!(exported.contains_key(*metric), "{metric} of {expression} is not exported");
    }
    // Selectors: name{label="value",label=~"value"}.
    for part in expression.split("springbloom_").skip(1) {
        let Some((name, rest)) = part.split_once('{') else { continue };
        if words(name).len() != 1 {
            continue;
        }
        let labels = &exported[&format!("springbloom_{}", words(name)[0])];
        for matcher in rest.split_once('}').expect("a selector ends").0.split(',') {
            let (label, value) = matcher.split_once('=').expect("a label and a value");
            if by_server.contains(&label) {
                continue;
            }
            let values = labels.get(label).unwrap_or_else(|| panic!("{expression}: no label {label}"));
            assert!(values.contains(value.trim_matches('"')), "{expression}: no {matcher}");
        }
    }
    // Groups: by (label, label), and those that are taken away.
    for group in expression.split(" by (").chain(expression.split(" without (")).skip(1) {
        let Some((labels, of)) = group.split_once(") (") else { continue };
        let Some(metric) = words(of).into_iter().find(|word| word.starts_with("springbloom_")) else {
            continue;
        };
        for label in labels.split(", ").filter(|label| words(label).len() == 1 && words(label)[0] == *label) {
            let is_known = exported[metric].contains_key(label) || by_server.contains(&label);
            assert!(is_known, "{expression}: {metric} has no label {label}");
        }
    }
}

#[test]
fn alerts_ask_for_what_is_exported() {
    let exported = exported();
    let rules: Value = serde_saphyr::from_str(&file("prometheus-alerts.yml")).expect("YAML");
    let groups = rules["groups"].as_array().expect("groups");
    let mut names = BTreeSet::new();
    for rule in groups.iter().flat_map(|group| group["rules"].as_array().expect("rules")) {
        let name = rule["alert"].as_str().expect("a name");
        assert!(name.starts_with("Springbloom") && names.insert(name), "{name}");
        check(rule["expr"].as_str().expect("an expression"), &exported, &["job", "instance"]);
        assert!(
            ["info", "warning", "critical"]
                .contains(&rule["labels"]["severity"].as_str().expect("a severity"))
        );
        for annotation in ["summary", "description"] {
            assert!(rule["annotations"][annotation].is_string(), "{name} has no {annotation}");
        }
    }
    assert!(names.len() >= 7, "{names:?}");
    // The tests of promtool know them all.
    let tests: Value = serde_saphyr::from_str(&file("prometheus-alerts-test.yml")).expect("YAML");
    let tested: BTreeSet<_> = (tests["tests"].as_array().expect("tests").iter())
        .flat_map(|test| test["alert_rule_test"].as_array().expect("alerts"))
        .filter(|test| !test["exp_alerts"].as_array().expect("alerts").is_empty())
        .map(|test| test["alertname"].as_str().expect("a name"))
        .collect();
    assert_eq!(tested, names, "each alert is shown to fire");
}

#[test]
fn the_page_for_operators_names_what_is_exported() {
    let exported = exported();
    let page = fs::read_to_string("../../docs/operations.md").expect("the page");
    let quoted = page.split('`').skip(1).step_by(2).filter(|text| text.starts_with("springbloom_"));
    let quoted: Vec<_> = quoted.collect();
    assert!(quoted.len() > 15, "{quoted:?}");
    quoted.iter().for_each(|expression| check(expression, &exported, &[]));
}

#[test]
fn the_check_refuses_what_does_not_exist() {
    let exported = exported();
    let refused = |expression: &str| {
        let result = std::panic::catch_unwind(|| check(expression, &exported, &["job"]));
        assert!(result.is_err(), "{expression}");
    };
    check("sum by (kind) (springbloom_used_bytes{job=~\"x\"})", &exported, &["job"]);
    for expression in [
        "springbloom_budget",
        "rate(springbloom_visits_total{outcome=\"wasted\"}[5m])",
        "springbloom_visits_total{kind=\"units\"}",
        "sum by (level) (rate(springbloom_visits_total[5m]))",
        "sum without (level) (rate(springbloom_visits_total[5m]))",
        "up == 0",
    ] {
        refused(expression);
    }
}
