//! Which crate may depend on which: the directions that keep policies usable without a store, and filters without either.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use cargo_metadata::{Dependency, DependencyKind, Metadata, MetadataCommand, Package};

/// Every crate of the workspace, with the crates of the workspace that it may depend on.
const ALLOWED: [(&str, &[&str]); 17] = [
    ("springbloom-filter", &[]),
    ("springbloom-format", &["springbloom-filter"]),
    ("springbloom-manager", &["springbloom-filter"]),
    ("springbloom-page-device", &["springbloom-filter"]),
    ("springbloom-flash-filter", &["springbloom-filter", "springbloom-page-device"]),
    ("springbloom-flash-index", &["springbloom-filter", "springbloom-page-device"]),
    ("springbloom-console", &[]),
    ("springbloom-testkit", &[]),
    ("springbloom-host-core", &["springbloom-filter", "springbloom-format", "springbloom-manager"]),
    (
        "springbloom-rocksdb",
        &["springbloom-filter", "springbloom-format", "springbloom-host-core", "springbloom-manager"],
    ),
    ("springbloom-workload", &[]),
    ("springbloom-baselines", &[]),
    ("springbloom-records", &["springbloom-console"]),
    ("springbloom-evidence", &["springbloom-console", "springbloom-records"]),
    (
        "springbloom-simulator",
        &[
            "springbloom-console",
            "springbloom-filter",
            "springbloom-format",
            "springbloom-manager",
            "springbloom-records",
            "springbloom-workload",
        ],
    ),
    (
        "springbloom-compare",
        &[
            "springbloom-baselines",
            "springbloom-console",
            "springbloom-records",
            "springbloom-rocksdb",
            "springbloom-workload",
        ],
    ),
    (
        "springbloom",
        &[
            "springbloom-compare",
            "springbloom-console",
            "springbloom-evidence",
            "springbloom-filter",
            "springbloom-flash-filter",
            "springbloom-flash-index",
            "springbloom-page-device",
            "springbloom-rocksdb",
            "springbloom-simulator",
        ],
    ),
];

/// What crates without an engine may use from elsewhere. A store is not among them.
const NEUTRAL_EXTERNALS: [&str; 33] = [
    "anyhow",
    "arc-swap",
    "blake3",
    "clap",
    "comfy-table",
    "crossbeam-queue",
    "crossbeam-utils",
    "fastrand",
    "flate2",
    "indexmap",
    "indicatif",
    "io-uring",
    "jiff",
    "libc",
    "log",
    "maud",
    "multiversion",
    "parking_lot",
    "plotters",
    "prometheus-client",
    "pulldown-cmark",
    "rand",
    "rand_distr",
    "rand_pcg",
    "rustc-hash",
    "rustix",
    "serde",
    "serde_json",
    "signal-hook",
    "statrs",
    "thiserror",
    "unicode-properties",
    "xxhash-rust",
];

/// The folder of all that hosts share. Every other one in `hosts/` is for an engine.
const CORE: &str = "hosts/core";

/// Whether a crate knows no engine.
fn is_neutral(folder: &str) -> bool {
    folder.starts_with("crates/")
        || [CORE, "bench/evidence", "bench/records", "bench/workload", "bench/simulator"].contains(&folder)
}

fn is_host_of_an_engine(folder: &str) -> bool {
    folder.starts_with("hosts/") && folder != CORE
}

/// The folder of a crate of the workspace, from its root; empty for one from elsewhere.
fn folder_of<'a>(metadata: &Metadata, package: &'a Package) -> &'a str {
    let manifest = package.manifest_path.strip_prefix(&metadata.workspace_root);
    manifest.ok().and_then(|path| path.parent()).map_or("", |folder| folder.as_str())
}

/// What a crate is built and linked with, whatever its features: not what only its tests use.
fn shipped(package: &Package) -> impl Iterator<Item = &Dependency> {
    package.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development)
}

#[test]
fn dependencies_point_inwards() {
    let metadata = MetadataCommand::new().no_deps().exec().expect("cargo metadata");
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.into_iter().collect();
    let members: BTreeSet<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    for package in &metadata.packages {
        let name = package.name.as_str();
        let Some(may) = allowed.get(name) else { panic!("{name} is new: say here what it may depend on") };
        for dependency in shipped(package) {
            let other = dependency.name.as_str();
            if !members.contains(other) {
                continue;
            }
            assert!(may.contains(&other), "{name} depends on {other}, allowed are {may:?}");
        }
    }
    let missing: Vec<_> = allowed.keys().filter(|name| !members.contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?} are gone from the workspace");
}

#[test]
fn hosts_know_what_they_share_and_no_other_host() {
    let metadata = MetadataCommand::new().no_deps().exec().expect("cargo metadata");
    let folders: BTreeMap<&str, &str> = metadata
        .packages
        .iter()
        .map(|package| (package.name.as_str(), folder_of(&metadata, package)))
        .collect();
    assert_eq!(folders.values().filter(|folder| **folder == CORE).count(), 1);
    assert!(folders.values().any(|folder| is_host_of_an_engine(folder)));
    for package in &metadata.packages {
        let folder = folder_of(&metadata, package);
        if !folder.starts_with("hosts/") && !folder.starts_with("crates/") {
            continue;
        }
        for dependency in shipped(package) {
            let Some(other) = folders.get(dependency.name.as_str()) else { continue };
            let may = other.starts_with("crates/") || is_host_of_an_engine(folder) && *other == CORE;
            assert!(may, "{folder} depends on {other}");
        }
    }
}

#[test]
fn engine_neutral_crates_bring_no_engine() {
    let metadata = MetadataCommand::new().exec().expect("cargo metadata");
    let members = metadata.workspace_packages();
    let is_member = |name: &str| members.iter().any(|member| member.name.as_str() == name);
    let neutral = || members.iter().filter(|member| is_neutral(folder_of(&metadata, member)));
    for package in neutral() {
        // What a feature adds is not built unless somebody asks for it.
        for dependency in shipped(package).filter(|dependency| !dependency.optional) {
            let name = dependency.name.as_str();
            assert!(
                is_member(name) || NEUTRAL_EXTERNALS.contains(&name),
                "{} depends on {name}: if that is no engine, say so here",
                package.name
            );
        }
    }
    // Engines, and what comes with them: whatever else the hosts need.
    let hosts = members.iter().filter(|member| is_host_of_an_engine(folder_of(&metadata, member)));
    let engines: BTreeSet<&str> = hosts
        .flat_map(|host| &host.dependencies)
        .filter(|dependency| dependency.kind == DependencyKind::Normal)
        .map(|dependency| dependency.name.as_str())
        .filter(|name| !is_member(name) && !NEUTRAL_EXTERNALS.contains(name))
        .collect();
    assert!(engines.contains("rocksdb"), "{engines:?}");
    let resolve = metadata.resolve.as_ref().expect("resolved dependencies");
    let nodes: BTreeMap<_, _> = resolve.nodes.iter().map(|node| (&node.id, node)).collect();
    for start in neutral() {
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
        let brought: Vec<_> = (metadata.packages.iter())
            .filter(|package| seen.contains(&package.id))
            .map(|package| package.name.as_str())
            .filter(|name| engines.contains(name))
            .collect();
        assert!(brought.is_empty(), "{} brings {brought:?}", start.name);
    }
}

#[test]
fn engine_neutral_crates_name_no_engine() {
    let metadata = MetadataCommand::new().no_deps().exec().expect("cargo metadata");
    let folders: Vec<&str> = metadata.packages.iter().map(|package| folder_of(&metadata, package)).collect();
    let engines: Vec<&str> = folders
        .iter()
        .filter(|folder| is_host_of_an_engine(folder))
        .flat_map(|folder| folder.rsplit('/').next())
        .collect();
    let mut read = 0;
    for folder in folders.iter().filter(|folder| folder.starts_with("crates/") || **folder == CORE) {
        // Tests and benchmarks may compare with engines.
        let folder = metadata.workspace_root.join(folder).into_std_path_buf();
        let mut open: Vec<_> = ["src", "include"]
            .map(|part| folder.join(part))
            .into_iter()
            .filter(|part| part.exists())
            .collect();
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(
                    fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()),
                );
            } else {
                read += 1;
                let text = fs::read_to_string(&path).expect("a source").to_lowercase();
                for engine in &engines {
                    assert!(!text.contains(engine), "{} names {engine}", path.display());
                }
            }
        }
    }
    assert!(read > 100, "{read} sources were read");
}

/// Crates for tests alone.
const UNPUBLISHED: [&str; 1] = ["springbloom-testkit"];

/// `scripts/package` packs and builds them.
#[test]
fn published_crates_say_what_they_are_and_ask_for_their_own_release() {
    let metadata = MetadataCommand::new().no_deps().exec().expect("cargo metadata");
    let is_published = |package: &Package| package.publish.as_ref().is_none_or(|to| !to.is_empty());
    let unpublished = metadata.packages.iter().filter(|package| !is_published(package));
    let unpublished: BTreeSet<_> = unpublished.map(|package| package.name.as_str()).collect();
    assert_eq!(unpublished, BTreeSet::from(UNPUBLISHED));
    let members: BTreeSet<_> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    let version = &metadata.packages[0].version;
    for package in metadata.packages.iter().filter(|package| is_published(package)) {
        let name = &package.name;
        assert_eq!(&package.version, version, "{name} has another version");
        assert!(
            package.description.as_ref().is_some_and(|text| text.len() > 20),
            "{name} has no description"
        );
        assert_eq!(package.license.as_deref(), Some("MIT OR Apache-2.0"), "{name}");
        assert!((3..=5).contains(&package.keywords.len()), "{name} has keywords {:?}", package.keywords);
        assert!(package.keywords.iter().all(|word| word.len() <= 20 && !word.contains(' ')), "{name}");
        assert!(!package.categories.is_empty(), "{name} has no category");
        assert!(
            package.metadata["docs"]["rs"]["targets"].is_array(),
            "{name} says nothing of its documentation"
        );
        let folder = package.manifest_path.parent().expect("a folder");
        for file in ["README.md", "LICENSE-APACHE", "LICENSE-MIT"] {
            let text = fs::read_to_string(folder.join(file))
                .unwrap_or_else(|error| panic!("{name}: {file}: {error}"));
            assert!(text.len() > 100, "{name}: {file}");
        }
        for dependency in shipped(package).filter(|dependency| members.contains(dependency.name.as_str())) {
            let other = &dependency.name;
            assert!(
                !UNPUBLISHED.contains(&other.as_str()),
                "{name} depends on {other}, which is not published"
            );
            assert_eq!(dependency.req.to_string(), format!("={version}"), "{name} on {other}");
        }
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
            // The program offers what measures as commands.
            let doors = ["springbloom-compare", "springbloom-evidence", "springbloom-simulator"];
            let is_the_door = package.name == "springbloom" && doors.contains(&name);
            assert!(
                for_tests || is_the_door || !measuring.contains(name),
                "{} depends on {name}, which measures",
                package.name
            );
        }
    }
}
