//! Which crate may depend on which: the directions that keep policies usable without a store, and filters without either.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use cargo_metadata::{Dependency, DependencyKind, Metadata, MetadataCommand, Package};

/// Every crate of this workspace and that of `flash`, with those of them that it may depend on.
const ALLOWED: &str = "
    springbloom-filter:
    springbloom-format: springbloom-filter
    springbloom-index:
    springbloom-manager: springbloom-filter springbloom-index
    springbloom-console:
    springbloom-testkit:
    springbloom-host-core: springbloom-filter springbloom-format springbloom-index springbloom-manager
    springbloom-table-model:
    springbloom-rocksdb: springbloom-filter springbloom-format springbloom-host-core springbloom-manager
    springbloom-workload:
    springbloom-published-policies: springbloom-filter springbloom-manager
    springbloom-baselines: springbloom-published-policies
    springbloom-records: springbloom-console
    springbloom-experiments: springbloom-console springbloom-records
    springbloom-simulator: springbloom-console springbloom-filter springbloom-format springbloom-index springbloom-manager
        springbloom-published-policies springbloom-records springbloom-workload
    springbloom-compare: springbloom-baselines springbloom-console springbloom-index springbloom-published-policies springbloom-records
        springbloom-rocksdb springbloom-workload
    springbloom: springbloom-compare springbloom-console springbloom-experiments springbloom-rocksdb springbloom-simulator
    springbloom-page-device: springbloom-filter
    springbloom-flash-filter: springbloom-filter springbloom-page-device
    springbloom-flash-index: springbloom-filter springbloom-page-device
    springbloom-flash-testkit: springbloom-page-device
    springbloom-flash-bench: springbloom-filter springbloom-flash-filter springbloom-flash-index springbloom-flash-testkit
        springbloom-page-device springbloom-records springbloom-testkit
    springflash: springbloom-console springbloom-filter springbloom-flash-filter springbloom-flash-index springbloom-page-device
    springflash-python: springbloom-filter springbloom-flash-filter springbloom-flash-index
";

/// What crates without an engine may use from elsewhere. A store is not among them.
const NEUTRAL_EXTERNALS: &str = "
    anyhow arc-swap blake3 clap clap_complete clap_mangen comfy-table crossbeam-queue crossbeam-utils fastrand flate2 indexmap indicatif
    io-uring jiff libc log multiversion parking_lot rand rand_distr rand_pcg rustc-hash rustix serde serde_json signal-hook statrs
    tempfile thiserror toml unicode-properties xxhash-rust
";

/// Engines whose hosts are no crates.
const ENGINES_WITHOUT_CRATE: [&str; 1] = ["leveldb"];

/// The folder of all that hosts share. Every other one in `hosts/` is for an engine.
const CORE: &str = "hosts/core";

/// The crates that each may depend on.
fn allowed() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let (mut allowed, mut of) = (BTreeMap::<_, BTreeSet<_>>::new(), "");
    for word in ALLOWED.split_whitespace() {
        let name = word.strip_suffix(':');
        of = name.unwrap_or(of);
        allowed.entry(of).or_default().extend(name.is_none().then_some(word));
    }
    allowed
}

fn is_neutral_external(name: &str) -> bool {
    NEUTRAL_EXTERNALS.split_whitespace().any(|external| external == name)
}

/// Whether a crate knows no engine.
fn is_neutral(folder: &str) -> bool {
    folder.starts_with("crates/")
        || folder.starts_with("flash/crates/")
        || [
            CORE,
            "bench/experiments",
            "bench/published_policies",
            "bench/records",
            "bench/workload",
            "bench/simulator",
        ]
        .contains(&folder)
}

fn is_host_of_an_engine(folder: &str) -> bool {
    folder.starts_with("hosts/") && !folder.starts_with(CORE)
}

fn root() -> PathBuf {
    PathBuf::from("../..").canonicalize().expect("the root of the repository")
}

/// What cargo knows of this workspace, and of that of `flash`.
fn workspaces() -> [MetadataCommand; 2] {
    ["Cargo.toml", "flash/Cargo.toml"].map(|manifest| {
        let mut command = MetadataCommand::new();
        command.manifest_path(root().join(manifest));
        command
    })
}

/// The crates of both workspaces.
fn packages() -> Vec<Package> {
    let of = |mut workspace: MetadataCommand| workspace.no_deps().exec().expect("cargo metadata").packages;
    workspaces().into_iter().flat_map(of).collect()
}

/// The folder of a crate, from the root of the repository.
fn folder_of(package: &Package) -> String {
    let folder = package.manifest_path.parent().expect("a folder").as_std_path();
    folder.strip_prefix(root()).expect("below the root").to_str().expect("text").to_owned()
}

/// What a crate is built and linked with, whatever its features: not what only its tests use.
fn shipped(package: &Package) -> impl Iterator<Item = &Dependency> {
    package.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development)
}

#[test]
fn dependencies_point_inwards() {
    let packages = packages();
    let allowed = allowed();
    let members: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    for package in &packages {
        let name = package.name.as_str();
        let Some(may) = allowed.get(name) else { panic!("{name} is new: say here what it may depend on") };
        for dependency in shipped(package) {
            let other = dependency.name.as_str();
            if !members.contains(other) {
                continue;
            }
            assert!(may.contains(other), "{name} depends on {other}, allowed are {may:?}");
        }
    }
    let missing: Vec<_> = allowed.keys().filter(|name| !members.contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?} are gone from the workspaces");
}

#[test]
fn hosts_know_what_they_share_and_no_other_host() {
    let packages = packages();
    let folders: BTreeMap<&str, String> =
        packages.iter().map(|package| (package.name.as_str(), folder_of(package))).collect();
    assert_eq!(folders.values().filter(|folder| *folder == CORE).count(), 1);
    assert!(folders.values().any(|folder| is_host_of_an_engine(folder)));
    for package in &packages {
        let folder = folder_of(package);
        if !folder.starts_with("hosts/") && !folder.starts_with("crates/") {
            continue;
        }
        for dependency in shipped(package) {
            let Some(other) = folders.get(dependency.name.as_str()) else { continue };
            let may = other.starts_with("crates/") || is_host_of_an_engine(&folder) && other == CORE;
            assert!(may, "{folder} depends on {other}");
        }
    }
}

#[test]
fn engine_neutral_crates_bring_no_engine() {
    let members = packages();
    let is_member = |name: &str| members.iter().any(|member| member.name.as_str() == name);
    for package in members.iter().filter(|member| is_neutral(&folder_of(member))) {
        // What a feature adds is not built unless somebody asks for it.
        for dependency in shipped(package).filter(|dependency| !dependency.optional) {
            let name = dependency.name.as_str();
            assert!(
                is_member(name) || is_neutral_external(name),
                "{} depends on {name}: if that is no engine, say so here",
                package.name
            );
        }
    }
    // Engines, and what comes with them: whatever else the hosts need.
    let hosts = members.iter().filter(|member| is_host_of_an_engine(&folder_of(member)));
    let engines: BTreeSet<&str> = hosts
        .flat_map(|host| &host.dependencies)
        .filter(|dependency| dependency.kind == DependencyKind::Normal)
        .map(|dependency| dependency.name.as_str())
        .filter(|name| !is_member(name) && !NEUTRAL_EXTERNALS.contains(name))
        .collect();
    assert!(engines.contains("rocksdb"), "{engines:?}");
    for workspace in workspaces() {
        bring_no_engine(&workspace.exec().expect("cargo metadata"), &engines);
    }
}

/// Fails if an engine is among all that a neutral crate of the workspace brings. What is in `flash` brings none, whatever it is.
fn bring_no_engine(metadata: &Metadata, engines: &BTreeSet<&str>) {
    let resolve = metadata.resolve.as_ref().expect("resolved dependencies");
    let nodes: BTreeMap<_, _> = resolve.nodes.iter().map(|node| (&node.id, node)).collect();
    let members = metadata.workspace_packages();
    let neutral = |member: &&&Package| {
        let folder = folder_of(member);
        is_neutral(&folder) || folder.starts_with("flash/")
    };
    for start in members.iter().filter(neutral) {
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
    let folders: Vec<String> = packages().iter().map(folder_of).collect();
    let engines: Vec<&str> = folders
        .iter()
        .filter(|folder| is_host_of_an_engine(folder))
        .flat_map(|folder| folder.rsplit('/').next())
        .chain(ENGINES_WITHOUT_CRATE)
        .collect();
    let is_product = |folder: &&String| {
        folder.starts_with("crates/") || folder.starts_with("flash/crates/") || *folder == CORE
    };
    let mut read = 0;
    for folder in folders.iter().filter(is_product) {
        // Tests and benchmarks may compare with engines.
        let folder = root().join(folder);
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

/// Crates for tests and benchmarks alone.
const UNPUBLISHED: [&str; 5] = [
    "springbloom-flash-bench",
    "springbloom-flash-testkit",
    "springbloom-table-model",
    "springbloom-testkit",
    "springflash-python",
];

/// `scripts/package` packs and builds them.
#[test]
fn published_crates_say_what_they_are_and_ask_for_their_own_release() {
    let packages = packages();
    let is_published = |package: &Package| package.publish.as_ref().is_none_or(|to| !to.is_empty());
    let unpublished = packages.iter().filter(|package| !is_published(package));
    let unpublished: BTreeSet<_> = unpublished.map(|package| package.name.as_str()).collect();
    assert_eq!(unpublished, BTreeSet::from(UNPUBLISHED));
    let members: BTreeSet<_> = packages.iter().map(|package| package.name.as_str()).collect();
    let version = &packages[0].version;
    for package in packages.iter().filter(|package| is_published(package)) {
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
        let readme = package.readme().unwrap_or_else(|| panic!("{name} names no README"));
        for file in [readme, folder.join("LICENSE-APACHE"), folder.join("LICENSE-MIT")] {
            let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{name}: {file}: {error}"));
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
    let packages = packages();
    let measures = |package: &&Package| {
        let folder = folder_of(package);
        folder.starts_with("bench/") || folder == "flash/bench"
    };
    let measuring: BTreeSet<&str> =
        packages.iter().filter(measures).map(|package| package.name.as_str()).collect();
    assert!(!measuring.is_empty(), "there are crates that measure");
    for package in packages.iter().filter(|package| !measures(package)) {
        for dependency in &package.dependencies {
            let name = dependency.name.as_str();
            let for_tests = dependency.kind == DependencyKind::Development;
            assert!(for_tests || !name.ends_with("testkit"), "{} ships {name}", package.name);
            // The program offers what measures as commands.
            let doors = ["springbloom-compare", "springbloom-experiments", "springbloom-simulator"];
            let is_the_door = package.name == "springbloom" && doors.contains(&name);
            assert!(
                for_tests || is_the_door || !measuring.contains(name),
                "{} depends on {name}, which measures",
                package.name
            );
        }
    }
}

/// What sources in C++ include of each other, by their paths without ending: a header and its source are one.
fn includes_below(folder: &str) -> BTreeMap<String, BTreeSet<String>> {
    let folder = root().join(folder);
    let (mut open, mut all) = (vec![folder.clone()], BTreeMap::<_, BTreeSet<_>>::new());
    let is_source = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "cc" || ending == "h");
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()));
        } else if is_source(&path) {
            let text = fs::read_to_string(&path).expect("a source");
            let name = path.with_extension("").strip_prefix(&folder).expect("below it").display().to_string();
            let included =
                text.lines().filter_map(|line| line.strip_prefix("#include \"")?.split_once(".h\""));
            let others = included.map(|(other, _)| other.to_owned()).filter(|other| *other != name);
            all.entry(name.clone()).or_default().extend(others);
        }
    }
    all
}

#[test]
fn sources_in_cpp_include_each_other_in_no_circle() {
    for folder in ["hosts/rocksdb/cpp", "hosts/leveldb/src"] {
        let mut left = includes_below(folder);
        assert!(left.len() > 5, "{folder} has {} sources", left.len());
        loop {
            let of_them = |others: &BTreeSet<String>| others.iter().any(|other| left.contains_key(other));
            let top: Vec<_> =
                left.iter().filter(|(_, others)| !of_them(others)).map(|(name, _)| name.clone()).collect();
            if top.is_empty() {
                break;
            }
            top.iter().for_each(|name| _ = left.remove(name));
        }
        assert!(left.is_empty(), "{folder}: a circle is among {left:?}");
    }
}
