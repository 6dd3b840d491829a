//! The program, and databases that are read as they are found.

use std::process;

use assert_cmd::{Command, cargo::cargo_bin};
use predicates::str::contains;
use rocksdb::Options;
use serde_json::Value;

/// The program with these arguments, which spaces divide.
pub(crate) fn springbloom(arguments: &str) -> Command {
    let mut command = Command::cargo_bin("springbloom").expect("the program is built for its tests");
    command.args(arguments.split_whitespace());
    command
}

/// What it prints as JSON.
pub(crate) fn json(command: &mut Command) -> Value {
    let output = command.arg("--json").assert().success().get_output().stdout.clone();
    serde_json::from_slice(&output).expect("standard output is one JSON document")
}

/// It refuses its arguments, and prints nothing else.
pub(crate) fn refused(command: &mut Command, said: &str) {
    command.assert().code(2).stdout("").stderr(contains(said));
}

/// Runs the program with this many descriptors; exit code, standard output and standard error.
pub(crate) fn run_with(descriptors: u32, arguments: &[&str]) -> (i32, String, String) {
    let limited = format!("ulimit -n {descriptors} && exec \"$@\"");
    let mut shell = process::Command::new("sh");
    let output = shell
        .args(["-c", &limited, "sh"])
        .arg(cargo_bin("springbloom"))
        .args(arguments)
        .output()
        .expect("run");
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
