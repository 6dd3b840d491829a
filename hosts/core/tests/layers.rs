//! The direction between the layers of this crate: a layer uses only what stands before it here.

use std::path::Path;

use springbloom_testkit::modules::Modules;

/// Folders and files of `src`, each of which may use those before it.
const ORDER: [&str; 9] =
    ["error", "engine", "identity", "settings", "warm_start", "tables", "budget", "instance", "ffi"];

/// The layers with unsafe code: the two sides of the C interface.
const UNSAFE: [&str; 2] = ["engine", "ffi"];

#[test]
fn layers_use_only_what_stands_before_them() {
    Modules::of(Path::new("src")).require_order(&ORDER);
}

#[test]
fn unsafe_code_is_at_the_border() {
    for (module, code) in Modules::of(Path::new("src")).iter() {
        let is_at_border = UNSAFE.iter().any(|layer| module.starts_with(layer));
        assert!(!code.contains("unsafe {") || is_at_border, "{module}");
    }
}
