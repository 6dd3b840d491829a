//! Which crate may depend on which: the directions that keep policies usable without a store, and filters without either.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, MetadataCommand};

/// Every crate of the workspace, with the crates of the workspace that it may depend on.
const ALLOWED: [(&str, &[&str]); 14] = [
    ("springbloom-filter", &[]),
    ("springbloom-format", &["springbloom-filter"]),
    ("springbloom-manager", &["springbloom-filter"]),
    ("springbloom-page-device", &["springbloom-filter"]),
    ("springbloom-flash-filter", &["springbloom-filter", "springbloom-page-device"]),
    ("springbloom-flash-index", &["springbloom-filter", "springbloom-page-device"]),
    ("springbloom-console", &[]),
    ("springbloom-testkit", &[]),
    ("springbloom-rocksdb", &["springbloom-filter", "springbloom-format", "springbloom-manager"]),
    ("springbloom-workload", &[]),
    ("springbloom-baselines", &[]),
    (
        "springbloom-simulator",
        &["springbloom-filter", "springbloom-manager", "springbloom-testkit", "springbloom-workload"],
    ),
    (
        "springbloom-compare",
        &["springbloom-baselines", "springbloom-console", "springbloom-rocksdb", "springbloom-workload"],
    ),
    (
        "springbloom",
        &[
            "springbloom-compare",
            "springbloom-console",
            "springbloom-filter",
            "springbloom-flash-filter",
            "springbloom-flash-index",
            "springbloom-page-device",
            "springbloom-rocksdb",
        ],
    ),
];

/// Crates that need no store to be built: none of their dependencies, at any depth, may bring one.
const ENGINE_NEUTRAL: [&str; 9] = [
    "springbloom-filter",
    "springbloom-format",
    "springbloom-manager",
    "springbloom-page-device",
    "springbloom-flash-filter",
    "springbloom-flash-index",
    "springbloom-console",
    "springbloom-workload",
    "springbloom-simulator",
];

#[test]
fn dependencies_point_inwards() {
    let metadata = MetadataCommand::new().no_deps().exec().expect("cargo metadata");
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.into_iter().collect();
    let members: BTreeSet<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    for package in &metadata.packages {
        let name = package.name.as_str();
        let Some(may) = allowed.get(name) else { panic!("{name} is new: say here what it may depend on") };
        for dependency in &package.dependencies {
            let other = dependency.name.as_str();
            if !members.contains(other) || dependency.kind == DependencyKind::Development {
                continue;
            }
            assert!(may.contains(&other), "{name} depends on {other}, allowed are {may:?}");
        }
    }
    let missing: Vec<_> = allowed.keys().filter(|name| !members.contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?} are gone from the workspace");
}

#[test]
fn engine_neutral_crates_bring_no_store() {
    let metadata = MetadataCommand::new().exec().expect("cargo metadata");
    let resolve = metadata.resolve.as_ref().expect("resolved dependencies");
    let nodes: BTreeMap<_, _> = resolve.nodes.iter().map(|node| (&node.id, node)).collect();
    for name in ENGINE_NEUTRAL {
        let start = metadata.packages.iter().find(|package| package.name.as_str() == name).expect("a member");
        let (mut seen, mut open) = (BTreeSet::new(), vec![&start.id]);
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let normal = nodes[id].deps.iter().filter(|dependency| {
                dependency.dep_kinds.iter().any(|kind| kind.kind != DependencyKind::Development)
            });
            open.extend(normal.map(|dependency| &dependency.pkg));
        }
        let stores: Vec<_> = (metadata.packages.iter())
            .filter(|package| seen.contains(&package.id) && package.name.as_str().contains("rocksdb"))
            .map(|package| package.name.as_str())
            .collect();
        assert!(stores.is_empty(), "{name} brings {stores:?}");
    }
}

#[test]
fn the_product_measures_nothing() {
    let metadata = MetadataCommand::new().no_deps().exec().expect("cargo metadata");
    let is_in = |package: &cargo_metadata::Package, folder: &str| {
        package.manifest_path.starts_with(metadata.workspace_root.join(folder))
    };
    let names_in = |folder: &str| -> BTreeSet<&str> {
        let inside = metadata.packages.iter().filter(|package| is_in(package, folder));
        inside.map(|package| package.name.as_str()).collect()
    };
    let measuring = names_in("bench");
    assert!(!measuring.is_empty(), "bench/ has crates");
    for package in metadata.packages.iter().filter(|package| !is_in(package, "bench")) {
        for dependency in &package.dependencies {
            let name = dependency.name.as_str();
            let for_tests = dependency.kind == DependencyKind::Development;
            assert!(for_tests || name != "springbloom-testkit", "{} ships testkit", package.name);
            // The program offers the comparison as one of its commands.
            let is_the_door = package.name == "springbloom" && name == "springbloom-compare";
            assert!(
                for_tests || is_the_door || !measuring.contains(name),
                "{} depends on {name}, which measures",
                package.name
            );
        }
    }
}
