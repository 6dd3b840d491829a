//! Compiles the library for LevelDB and what the benchmark calls, and links LevelDB as the system has it (`scripts/setup --leveldb`).

use std::process::Command;
use std::{env, fs, path::Path};

const HOST: &str = "../../hosts/leveldb";

fn main() {
    let sources = ["cpp", &format!("{HOST}/src")].map(|folder| {
        println!("cargo:rerun-if-changed={folder}");
        let files =
            fs::read_dir(folder).expect("a folder of sources").map(|entry| entry.expect("an entry").path());
        files.filter(|path| path.extension().is_some_and(|extension| extension == "cc")).collect::<Vec<_>>()
    });
    println!("cargo:rerun-if-changed={HOST}/tests/counting_env.h");
    println!("cargo:rerun-if-changed=../../hosts/core/include");
    cc::Build::new()
        .cpp(true)
        .std("c++20")
        .opt_level(2)
        // As LevelDB compiles itself.
        .flag("-fno-rtti")
        .includes(["cpp", "../../hosts/core/include"])
        .includes(["include", "src"].map(|part| format!("{HOST}/{part}")))
        .files(sources.concat())
        .compile("springbloom_leveldb_bench");
    // After what replaces its classes: not in one archive with them.
    let compiler = env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let found =
        Command::new(&compiler).arg("-print-file-name=libleveldb.a").output().expect("a C++ compiler").stdout;
    let found = String::from_utf8(found).expect("a path");
    let folder = Path::new(found.trim()).parent().filter(|folder| folder.is_dir());
    let folder = folder.expect("libleveldb.a: install LevelDB (scripts/setup --leveldb)");
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rustc-link-lib=static:-bundle=leveldb");
    println!("cargo:rustc-link-lib=dylib=snappy");
}
