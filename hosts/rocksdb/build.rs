//! Compiles the C++ table factory against RocksDB's internal headers.

#[path = "build/rocksdb_headers.rs"]
mod rocksdb_headers;

use std::{env, path::Path};

use rocksdb_headers::{compiler, is_for_documentation, sources_in, together};

fn main() {
    println!("cargo:rerun-if-changed=build");
    println!("cargo:rerun-if-changed=cpp");
    println!("cargo:rerun-if-changed=tests/cpp");
    // For tests: how the crates with RocksDB differ (scripts/test-releases makes the last packages, all of older releases).
    println!("cargo::rustc-check-cfg=cfg(rust_rocksdb, rocksdb_before_11_8, crate_without_timestamps)");
    let package = env::var("CARGO_PKG_NAME").unwrap_or_default();
    if package == "springbloom-rust-rocksdb" {
        println!("cargo::rustc-cfg=rust_rocksdb");
    }
    if package.starts_with("springbloom-rocksdb-") {
        println!("cargo::rustc-cfg=rocksdb_before_11_8");
    }
    if package == "springbloom-rocksdb-8-10-0" {
        println!("cargo::rustc-cfg=crate_without_timestamps");
    }
    if is_for_documentation() {
        return;
    }
    let mut build = compiler();
    // With links to the core's header: a package has nothing outside its folder, and what another build script tells would be kept with the
    // target folder, which checkouts share.
    build.include("cpp");
    // Option maps name members by offset, as RocksDB's own do.
    build.flag_if_supported("-Wno-invalid-offsetof");
    let build_of_tests = build.clone();
    build.file(together("springbloom_rocksdb_cpp", &sources_in("cpp"))).compile("springbloom_rocksdb_cpp");
    // Linked into the tests that call it, and into nothing else.
    let tests = Path::new("tests/cpp");
    if tests.is_dir() {
        let mut build = build_of_tests;
        build
            .include(tests)
            .file(together("springbloom_rocksdb_cpp_tests", &sources_in(tests)))
            .compile("springbloom_rocksdb_cpp_tests");
    }
}
