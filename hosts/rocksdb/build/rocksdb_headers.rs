//! A C++ compiler set up for the headers of exactly the RocksDB that `librocksdb-sys` builds and links. Build scripts
//! share it; their crates depend on `librocksdb-sys` themselves, which is how they learn where the headers are.

mod archive;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// Whether only documentation is built, on a server that has no use for compiled code.
pub(crate) fn is_for_documentation() -> bool {
    println!("cargo:rerun-if-env-changed=DOCS_RS");
    env::var_os("DOCS_RS").is_some()
}

/// The compiler, without files to compile.
pub(crate) fn compiler() -> cc::Build {
    println!("cargo:rerun-if-env-changed=SPRINGBLOOM_ROCKSDB_IS_OURS");
    // The sanitizers' build brings a library made of the very sources that librocksdb-sys ships.
    if env::var_os("SPRINGBLOOM_ROCKSDB_IS_OURS").is_none() {
        refuse_other_libraries();
    }
    let sources = PathBuf::from(
        env::var_os("DEP_ROCKSDB_CARGO_MANIFEST_DIR").expect("librocksdb-sys tells its manifest's folder"),
    )
    .join("rocksdb");

    let mut build = cc::Build::new();
    build.cpp(true).std("c++20");
    // As system headers: warnings in them are RocksDB's to mend.
    for folder in [sources.clone(), sources.join("include")] {
        build.flag("-isystem").flag(folder);
    }
    // The layout of RocksDB's classes depends on these: they mirror librocksdb-sys's build script. Nothing that is used here depends on the
    // compressions that it was built with (scripts/package checks it).
    build.define("NDEBUG", "1").define("HAVE_ALIGNED_NEW", None).define("HAVE_UINT128_EXTENSION", None);
    assert_eq!(env::var("CARGO_CFG_TARGET_OS").as_deref(), Ok("linux"), "Springbloom runs on Linux only");
    for define in [
        "OS_LINUX",
        "ROCKSDB_PLATFORM_POSIX",
        "ROCKSDB_LIB_IO_POSIX",
        "ROCKSDB_SCHED_GETCPU_PRESENT",
        "ROCKSDB_AUXV_GETAUXVAL_PRESENT",
        "ROCKSDB_FALLOCATE_PRESENT",
        "ROCKSDB_RANGESYNC_PRESENT",
    ] {
        build.define(define, None);
    }
    build.flag("-include").flag("cstdint");
    // Some crates build RocksDB without the type information that classes derived from its own would refer to.
    build.flag("-fno-rtti");
    if let Some(cpu) = target_cpu() {
        let flag =
            if env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("aarch64") { "-mcpu=" } else { "-march=" };
        build.flag_if_supported(format!("{flag}{cpu}"));
    }
    build
}

/// Stops the build unless RocksDB is compiled from its sources, with class layouts that the defines of [`compiler`] give.
fn refuse_other_libraries() {
    if env::var_os("ROCKSDB_LIB_DIR").is_some() {
        panic!(
            "ROCKSDB_LIB_DIR is set: springbloom compiles against RocksDB's internal headers and cannot use a system \
             library, whose headers may differ; unset it and let cargo build the bundled RocksDB"
        );
    }
    // librocksdb-sys does not tell its features.
    let library =
        PathBuf::from(env::var_os("DEP_ROCKSDB_OUT_DIR").expect("librocksdb-sys tells its build folder"))
            .join("librocksdb.a");
    let bytes = fs::read(&library).unwrap_or_else(|error| {
        panic!(
            "springbloom needs the RocksDB that cargo builds from its sources, and {}: {error}",
            library.display()
        )
    });
    let has_coroutines = archive::defines(&bytes, "MultiGetCoroutine")
        .unwrap_or_else(|| panic!("{} has no index of symbols", library.display()));
    assert!(
        !has_coroutines,
        "RocksDB is compiled with coroutines (feature `coroutines` of rust-rocksdb), which changes the layout of its \
         classes; cargo compiles springbloom's C++ without them: turn the feature off, or compile springbloom with \
         RocksDB as a plugin"
    );
}

/// The C++ files of a folder next to the build script, and of the folders in it.
pub(crate) fn sources_in(folder: impl AsRef<Path>) -> Vec<PathBuf> {
    let folder = folder.as_ref();
    let entries = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("the folder {} next to build.rs: {error}", folder.display()));
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.expect("the folder can be listed").path()) {
        if path.is_dir() {
            files.extend(sources_in(path));
        } else if path.extension().is_some_and(|extension| extension == "cc") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// One file that includes all of them, which compiles many times faster: RocksDB's headers take longer than what includes them.
pub(crate) fn together(name: &str, files: &[PathBuf]) -> PathBuf {
    let here = env::current_dir().expect("cargo sets it");
    let line = |file: &PathBuf| format!("#include \"{}\"\n", here.join(file).display());
    let path = Path::new(&env::var_os("OUT_DIR").expect("cargo gives it")).join(name).with_extension("cc");
    fs::write(&path, files.iter().map(line).collect::<String>()).expect("the build folder is writable");
    path
}

/// The processor that rustc compiles for; librocksdb-sys compiles RocksDB for the same.
fn target_cpu() -> Option<String> {
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").ok()?;
    let mut flags = flags.split('\u{1f}');
    let mut cpu = None;
    while let Some(flag) = flags.next() {
        let value = match flag {
            "-C" => flags.next().unwrap_or_default(),
            _ => flag.strip_prefix("-C").unwrap_or_default(),
        };
        cpu = value.strip_prefix("target-cpu=").map(str::to_owned).or(cpu);
    }
    cpu
}
