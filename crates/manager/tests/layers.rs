//! The direction between the layers of this crate: a layer uses only what stands before it here, and the plan does nothing but decide.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use springbloom_testkit::sources;

/// Folders and files of `src`, each of which may use those before it.
const ORDER: [&str; 20] = [
    "notices",
    "memory",
    "interned",
    "names",
    "budget",
    "keys",
    "settings",
    "unit_source",
    "chore",
    "waiting_table",
    "visits",
    "plan",
    "table_spec",
    "lookup",
    "stats",
    "registry",
    "memory_curve",
    "load_unit",
    "background",
    "manager",
];

/// What would make a decision depend on anything but the calls that were made.
const IMPURE: [&str; 9] = [
    "std::sync",
    "std::thread",
    "std::time",
    "std::fs",
    "std::io",
    "arc_swap",
    "crossbeam",
    "thread_local",
    "unsafe",
];

/// Those that are shipped: a whole file of tests is not.
fn sources() -> BTreeMap<PathBuf, String> {
    let mut sources = sources::sources();
    sources.retain(|path, _| path.file_name().is_some_and(|name| name != "simulation.rs"));
    sources
}

fn layer_of(path: &Path) -> String {
    let first = path.iter().next().expect("a name").to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// The names behind each `crate::` of a source, groups in braces taken apart.
fn uses(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for rest in code.split("crate::").skip(1) {
        let name = |text: &str| {
            text.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
        };
        match rest.strip_prefix('{') {
            Some(group) => {
                let group = group.split('}').next().unwrap_or_default();
                found.extend(group.split(',').map(name).filter(|name| !name.is_empty()));
            }
            None => found.push(name(rest)),
        }
    }
    found
}

#[test]
fn layers_use_only_what_stands_before_them() {
    let place = |layer: &str| ORDER.iter().position(|known| *known == layer);
    for (path, code) in sources().iter().filter(|(path, _)| **path != *Path::new("lib.rs")) {
        let layer = layer_of(path);
        let own = place(&layer).unwrap_or_else(|| panic!("{layer} is new: say here what it may use"));
        for used in uses(code) {
            // `lib.rs` is for users of the crate: a layer imports from layers.
            let other = place(&used).unwrap_or_else(|| panic!("{}: what is crate::{used}?", path.display()));
            assert!(other <= own, "{}: {layer} uses {used}", path.display());
            assert!((layer.as_str(), used.as_str()) != ("lookup", "plan"), "{}", path.display());
        }
    }
}

#[test]
fn the_plan_decides_and_does_nothing_else() {
    for (path, code) in sources().iter().filter(|(path, _)| path.starts_with("plan")) {
        for impure in IMPURE {
            assert!(!code.contains(impure), "{} uses {impure}", path.display());
        }
    }
}

/// A module by the names on its path; that of `mod.rs` is its folder's.
type Module = Vec<String>;

fn module_of(path: &Path) -> Module {
    let names = path.with_extension("");
    let names = names.iter().map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| name != "mod").collect()
}

/// The paths of a `use`, groups in braces taken apart.
fn paths(tree: &str) -> Vec<Module> {
    let tree: String = tree.chars().filter(|c| !c.is_whitespace()).collect();
    let Some((before, group)) = tree.split_once('{') else {
        return vec![tree.split("::").map(str::to_owned).collect()];
    };
    let start: Module = before.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in group.strip_suffix('}').expect("a group ends").chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        match parts.last_mut() {
            Some(part) if c != ',' || depth > 0 => part.push(c),
            _ => parts.push(String::new()),
        }
    }
    let parts = parts.iter().filter(|part| !part.is_empty());
    parts.flat_map(|part| paths(part)).map(|path| [start.clone(), path].concat()).collect()
}

/// The `use` statements of a module, those that hand a name on apart.
fn statements(code: &str) -> (Vec<Module>, Vec<Module>) {
    let (mut own, mut handed_on) = (Vec::new(), Vec::new());
    for statement in code.split(';') {
        let Some((before, tree)) = statement.split_once("use ") else { continue };
        match before.rsplit('\n').next().unwrap_or_default().trim() {
            "" => own.extend(paths(tree)),
            "pub" | "pub(crate)" | "pub(super)" => handed_on.extend(paths(tree)),
            _ => (),
        }
    }
    (own, handed_on)
}

/// Modules by those that they use, where a name that a module hands on is that of the module which has it.
fn uses_of_modules() -> BTreeMap<Module, Vec<Module>> {
    let sources: BTreeMap<Module, String> = sources()
        .into_iter()
        .filter(|(path, _)| path != Path::new("lib.rs"))
        .map(|(path, code)| (module_of(&path), code))
        .collect();
    let absolute = |module: &Module, path: &Module| -> Option<Module> {
        let ups = path.iter().take_while(|name| *name == "super").count();
        match path.first()?.as_str() {
            "crate" => Some(path[1..].to_vec()),
            "super" => Some([&module[..module.len() - ups], &path[ups..]].concat()),
            child => {
                let is_child = sources.contains_key(&[module.clone(), vec![child.to_owned()]].concat());
                is_child.then(|| [module.clone(), path.clone()].concat())
            }
        }
    };
    let handed_on: BTreeMap<Module, Module> = sources
        .iter()
        .flat_map(|(module, code)| {
            let named = statements(code).1.into_iter().filter_map(|path| {
                let name = path.last()?.clone();
                Some(([module.clone(), vec![name]].concat(), absolute(module, &path)?))
            });
            named.collect::<Vec<_>>()
        })
        .collect();
    let owner = |mut path: Module| {
        while let Some(behind) = (1..=path.len()).rev().find_map(|end| {
            let from = handed_on.get(&path[..end])?;
            Some([from, &path[end..]].concat())
        }) {
            path = behind;
        }
        (1..=path.len()).rev().map(|end| path[..end].to_vec()).find(|module| sources.contains_key(module))
    };
    let used = |module: &Module, code: &str| -> Vec<Module> {
        let paths = statements(code).0.into_iter().filter_map(|path| owner(absolute(module, &path)?));
        paths.filter(|used| used != module).collect()
    };
    sources.iter().map(|(module, code)| (module.clone(), used(module, code))).collect()
}

#[test]
fn no_modules_use_each_other_in_a_circle() {
    let mut uses = uses_of_modules();
    assert!(uses[&vec!["registry".to_owned()]].contains(&vec!["registry".into(), "residency".into()]));
    // What uses nothing that is left cannot be part of a circle.
    while let Some(module) = uses
        .iter()
        .find(|(_, used)| used.iter().all(|used| !uses.contains_key(used)))
        .map(|(module, _)| module.clone())
    {
        uses.remove(&module);
    }
    let circles: Vec<_> =
        uses.iter().map(|(module, used)| format!("{} uses {used:?}", module.join("/"))).collect();
    assert!(circles.is_empty(), "in or between circles:\n{}", circles.join("\n"));
}
