//! Tells hosts in C or C++ where the header is (`DEP_SPRINGBLOOM_HOST_INCLUDE` in the build script of a crate that depends on this one).

use std::{env, path::PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo gives it"));
    println!("cargo:include={}", folder.join("include").display());
}
