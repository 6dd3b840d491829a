//! `springflash set add --print-new` killed at random moments: no key is lost, neither from the set nor from what was printed.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use springbloom_testkit::seed;

const KEYS: usize = 60_000;
const KILLS: usize = 8;

fn program(set: &Path, action: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("springflash"));
    command.arg("set").args(action).arg(set).args(["--memory", "256KiB"]).stderr(Stdio::null());
    command
}

fn lines_of(path: &Path) -> Vec<String> {
    let text = String::from_utf8(std::fs::read(path).expect("output")).expect("text");
    // A line that was cut off by the kill was not handed over.
    text.split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
        .map(|line| line.trim_end().to_owned())
        .collect()
}

#[test]
fn what_was_printed_or_is_in_the_set_is_everything_and_the_rest_comes_next_time() {
    let mut rng = seed::rng("what_was_printed_or_is_in_the_set_is_everything");
    let directory = tempfile::tempdir().expect("a folder");
    let set = directory.path().join("seen");
    let keys = directory.path().join("keys");
    let all: Vec<String> = (0..KEYS).map(|n| format!("https://example.org/{n}")).collect();
    std::fs::write(&keys, all.join("\n")).expect("keys");
    let created = program(&set, &["create", "--capacity", "100000", "--fpr", "0.000001"]).status();
    assert!(created.expect("the program").success());
    let mut printed = Vec::new();
    let mut interrupted = 0;
    for run in 0..=KILLS {
        let output = directory.path().join("new");
        let mut child = program(&set, &["add", "--print-new"])
            .arg(&keys)
            .stdout(File::create(&output).expect("output"))
            .spawn()
            .expect("the program");
        if run < KILLS {
            std::thread::sleep(Duration::from_millis(rand::RngExt::random_range(&mut rng, 1..120)));
            interrupted += usize::from(child.try_wait().expect("a child").is_none());
            child.kill().expect("killed");
        }
        child.wait().expect("a child");
        printed.extend(lines_of(&output));
    }
    let seen: HashSet<&String> = printed.iter().collect();
    let lost = all.iter().filter(|key| !seen.contains(key)).count();
    // A millionth of the new keys is taken for known.
    assert!(lost <= 2, "{lost} keys are in the set and were never printed");
    assert!(interrupted > 0, "every run ended before it was killed");
    let count = program(&set, &["check", "--count"]).arg(&keys).output().expect("the program");
    assert_eq!(String::from_utf8_lossy(&count.stdout).trim(), KEYS.to_string());
}
