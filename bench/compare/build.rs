//! Stamps the program with the commit it was built from, for the headers of its reports.

use std::{fs, path::Path, process::Command};

fn main() {
    let commit = packaged_commit().or_else(commit_of_checkout).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=SPRINGBLOOM_COMMIT={commit}");
    println!("cargo::rerun-if-changed=src");
    let log = "../../.git/logs/HEAD";
    if Path::new(log).exists() {
        println!("cargo::rerun-if-changed={log}");
    }
}

/// The commit that cargo wrote into the package.
fn packaged_commit() -> Option<String> {
    let text = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let commit = text.split("\"sha1\": \"").nth(1)?.split('"').next()?;
    Some(commit.chars().take(7).collect())
}

fn commit_of_checkout() -> Option<String> {
    let describe = Command::new("git").args(["describe", "--always", "--dirty", "--tags"]).output().ok()?;
    describe.status.success().then(|| String::from_utf8_lossy(&describe.stdout).trim().to_owned())
}
