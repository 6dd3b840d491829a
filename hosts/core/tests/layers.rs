//! The direction between the layers of this crate: a layer uses only what stands before it here, and no two files use each other.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use springbloom_testkit::sources;

/// Folders and files of `src`, each of which may use those before it.
const ORDER: [&str; 9] =
    ["error", "engine", "identity", "settings", "warm_start", "tables", "budget", "instance", "ffi"];

/// The layers with unsafe code: the two sides of the C interface.
const UNSAFE: [&str; 2] = ["engine", "ffi"];

/// Code without white space by the path of its module, as `tables::databases`. `lib.rs` is for users, and left out.
fn sources() -> BTreeMap<String, String> {
    let module = |path: &Path| {
        let within = path.with_extension("");
        let names: Vec<_> = within.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        names.into_iter().filter(|name| name != "mod").collect::<Vec<_>>().join("::")
    };
    let found = sources::sources();
    let found = found.iter().map(|(path, code)| (module(path), code.split_whitespace().collect()));
    found.filter(|(module, _)| module != "lib").collect()
}

/// The paths behind a `crate::`, `super::` or `self::`, groups in braces taken apart.
fn paths(text: &str) -> Vec<String> {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(text.len());
    let (path, rest) = text.split_at(end);
    let Some(group) = rest.strip_prefix('{').filter(|_| path.is_empty() || path.ends_with("::")) else {
        return vec![path.to_owned()];
    };
    let (mut depth, mut begun, mut found) = (0, 0, Vec::new());
    for (at, letter) in group.char_indices() {
        match letter {
            ',' | '}' if depth == 0 => {
                let inner = paths(&group[begun..at]);
                found.extend(
                    inner.into_iter().filter(|inner| !inner.is_empty()).map(|inner| format!("{path}{inner}")),
                );
                begun = at + 1;
                if letter == '}' {
                    break;
                }
            }
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => (),
        }
    }
    found
}

/// The modules that a module's code names.
fn uses(module: &str, code: &str, modules: &BTreeSet<&str>) -> BTreeSet<String> {
    let is_folder = modules.iter().any(|other| other.starts_with(&format!("{module}::")));
    let parent = if is_folder { module } else { module.rsplit_once("::").map_or("", |(parent, _)| parent) };
    let above = module.rsplit_once("::").map_or("", |(parent, _)| parent);
    let mut found = BTreeSet::new();
    for (word, base) in [("crate::", ""), ("super::", above), ("self::", parent)] {
        for path in code.split(word).skip(1).flat_map(paths) {
            let path = if base.is_empty() { path } else { format!("{base}::{path}") };
            let known = path.match_indices("::").map(|(at, _)| &path[..at]).chain([&*path]);
            let used = known.filter(|part| modules.contains(part)).last();
            found.insert(used.unwrap_or_else(|| panic!("{module}: what is {path}?")).to_owned());
        }
    }
    found.remove(module);
    found
}

/// What each module uses.
fn graph() -> BTreeMap<String, BTreeSet<String>> {
    let sources = sources();
    let modules = sources.keys().map(String::as_str).collect();
    sources.iter().map(|(module, code)| (module.clone(), uses(module, code, &modules))).collect()
}

fn layer_of(module: &str) -> &str {
    module.split("::").next().unwrap_or(module)
}

#[test]
fn layers_use_only_what_stands_before_them() {
    let place = |module: &str| {
        let layer = layer_of(module);
        let place = ORDER.iter().position(|known| *known == layer);
        place.unwrap_or_else(|| panic!("{layer} is new: say here what it may use"))
    };
    for (module, uses) in graph() {
        for used in uses {
            assert!(place(&used) <= place(&module), "{module} uses {used}");
        }
    }
}

#[test]
fn no_files_use_each_other() {
    let mut left = graph();
    while !left.is_empty() {
        let before = left.len();
        let modules: BTreeSet<_> = left.keys().cloned().collect();
        left.retain(|_, uses| uses.iter().any(|used| modules.contains(used)));
        assert!(left.len() < before, "a circle: {left:#?}");
    }
}

#[test]
fn unsafe_code_is_at_the_border() {
    for (module, code) in sources() {
        assert!(!code.contains("unsafe{") || UNSAFE.contains(&layer_of(&module)), "{module}");
    }
}

#[test]
fn uses_are_found() {
    let modules = ["a", "a::b", "a::c", "d"].into();
    let found = |module, code| uses(module, code, &modules).into_iter().collect::<Vec<_>>();
    assert_eq!(found("a::b", "usesuper::c::X;usecrate::{a::{Y,c::{Z}},d};"), ["a", "a::c", "d"]);
    assert_eq!(found("a", "useself::{b::X,c};letx=crate::d::f();"), ["a::b", "a::c", "d"]);
    assert_eq!(found("d", "usestd::sync::Arc;"), [""; 0]);
}
