//! Databases that are read as they are found, and the program that reads them.

use std::process::Command;

use rocksdb::Options;

/// Runs the program with this many descriptors; exit code, standard output and standard error.
pub(crate) fn run_with(descriptors: u32, arguments: &[&str]) -> (i32, String, String) {
    let program = assert_cmd::cargo::cargo_bin("springbloom");
    let limited = format!("ulimit -n {descriptors} && exec \"$@\"");
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", &limited, "sh"]).arg(program).args(arguments).output().expect("run");
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text"));
    (output.status.code().expect("an exit code"), out, err)
}

/// Options of a new database without compactions.
pub(crate) fn uncompacted() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_disable_auto_compactions(true);
    options.set_level_zero_slowdown_writes_trigger(1 << 20);
    options.set_level_zero_stop_writes_trigger(1 << 20);
    options.set_max_open_files(100);
    options
}
