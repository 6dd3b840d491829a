//! Compiles what of the baselines stock RocksDB offers in C++ alone.

// Links to files of the host: a package has nothing outside its folder.
#[path = "build/rocksdb_headers.rs"]
mod rocksdb_headers;

fn main() {
    println!("cargo:rerun-if-changed=cpp");
    println!("cargo:rerun-if-changed=build");
    if rocksdb_headers::is_for_documentation() {
        return;
    }
    let mut build = rocksdb_headers::compiler();
    build.include("cpp");
    build
        .file(rocksdb_headers::together("springbloom_baselines", &rocksdb_headers::sources_in("cpp")))
        .compile("springbloom_baselines");
}
