//! Stamps programs with the commit they were built from, for the records of what they measure.

use std::{fs, path::Path, process::Command};

/// Whatever is compiled, from the root of the repository.
const SOURCES: [&str; 7] = ["Cargo.toml", "Cargo.lock", "apps", "bench", "crates", "flash", "hosts"];

fn main() {
    let (commit, is_modified) = packaged().or_else(checked_out).unwrap_or(("unknown".to_owned(), false));
    println!("cargo::rustc-env=SPRINGBLOOM_COMMIT={commit}");
    println!("cargo::rustc-env=SPRINGBLOOM_MODIFIED={is_modified}");
    println!("cargo::rerun-if-changed=build.rs");
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]);
    let sources = SOURCES.iter().map(|source| format!("../../{source}"));
    // Cargo always runs a script again if what it names does not exist.
    for path in sources.chain(log).filter(|path| Path::new(path).exists()) {
        println!("cargo::rerun-if-changed={path}");
    }
}

/// The commit that cargo wrote into the package.
fn packaged() -> Option<(String, bool)> {
    let text = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let commit = text.split("\"sha1\": \"").nth(1)?.split('"').next()?;
    Some((commit.chars().take(7).collect(), text.contains("\"dirty\": true")))
}

/// The commit of the checkout, and whether sources differ from it.
fn checked_out() -> Option<(String, bool)> {
    let commit = git(&["rev-parse", "--short=7", "HEAD"])?;
    let from_root: Vec<_> = SOURCES.iter().map(|source| format!(":/{source}")).collect();
    let status: Vec<_> =
        ["status", "--porcelain", "--"].into_iter().chain(from_root.iter().map(String::as_str)).collect();
    Some((commit, !git(&status)?.is_empty()))
}

/// What Git prints.
fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
