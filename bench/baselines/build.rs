//! Compiles what of the baselines stock RocksDB offers in C++ alone.

#[path = "../../hosts/rocksdb/build/rocksdb_headers.rs"]
mod rocksdb_headers;

fn main() {
    println!("cargo:rerun-if-changed=cpp");
    println!("cargo:rerun-if-changed=../../hosts/rocksdb/cpp/install/c_options.h");
    println!("cargo:rerun-if-changed=../../hosts/rocksdb/build");
    let mut build = rocksdb_headers::compiler();
    build.include("cpp").include("../../hosts/rocksdb/cpp");
    build
        .file(rocksdb_headers::together("springbloom_baselines", &rocksdb_headers::sources_in("cpp")))
        .compile("springbloom_baselines");
}
