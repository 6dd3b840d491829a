//! Stamps the program with the commit it was built from, for the headers of its reports.

use std::process::Command;

fn main() {
    let describe = Command::new("git").args(["describe", "--always", "--dirty", "--tags"]).output();
    let commit = match describe {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        _ => "unknown".to_owned(),
    };
    println!("cargo::rustc-env=SPRINGBLOOM_COMMIT={commit}");
    println!("cargo::rerun-if-changed=../../.git/logs/HEAD");
    println!("cargo::rerun-if-changed=src");
}
