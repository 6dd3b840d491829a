//! The direction between the layers of this crate: a layer uses only what stands before it here, and the plan does nothing but decide.

use std::path::Path;

use springbloom_testkit::modules::Modules;

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

#[test]
fn layers_use_only_what_stands_before_them() {
    let graph = Modules::of(Path::new("src")).require_order(&ORDER);
    let lookups = graph.iter().filter(|(module, _)| module.starts_with("lookup"));
    for (module, uses) in lookups {
        assert!(!uses.iter().any(|used| used.starts_with("plan")), "{module} uses {uses:?}");
    }
}

#[test]
fn the_plan_decides_and_does_nothing_else() {
    let modules = Modules::of(Path::new("src"));
    let plan: Vec<_> = modules.iter().filter(|(module, _)| module.starts_with("plan")).collect();
    assert!(plan.len() > 5, "{} modules", plan.len());
    for (module, code) in plan {
        for impure in IMPURE {
            assert!(!code.contains(impure), "{module} uses {impure}");
        }
    }
}
