//! What commands say on a full disk, what they keep, and that they work again when there is space.
//!
//! The disk is a small file system in a mount namespace of its own, which needs no root. Where the kernel forbids user namespaces, these
//! tests are skipped; `scripts/attack-full-disk` does the same as root.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use assert_cmd::Command;

/// A file system of `size` and the process that keeps it.
struct SmallDisk {
    keeper: Child,
    folder: PathBuf,
}

impl SmallDisk {
    fn new(size: &str) -> Option<SmallDisk> {
        let mount =
            format!("mount -t tmpfs -o size={size} tmpfs /mnt && echo mounted && exec cat >/dev/null");
        let mut keeper = std::process::Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", &mount])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare");
        let mut line = String::new();
        BufReader::new(keeper.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let folder = PathBuf::from(format!("/proc/{}/root/mnt", keeper.id()));
        let disk = SmallDisk { keeper, folder };
        if line != "mounted\n" {
            eprintln!("skipped: no file system can be mounted in a user namespace here");
            return None;
        }
        Some(disk)
    }

    /// Writes a file until the disk is full, or of `bytes`.
    fn fill(&self, bytes: usize) {
        let mut file = fs::File::create(self.folder.join("ballast")).expect("a file");
        let block = [1; 4096];
        let written = (0..bytes.div_ceil(block.len())).try_for_each(|_| file.write_all(&block));
        assert!(written.is_ok() || bytes == usize::MAX, "{written:?}");
    }

    fn free(&self) {
        fs::remove_file(self.folder.join("ballast")).expect("the ballast");
    }

    fn springflash(&self, arguments: &[&str]) -> Command {
        let mut command = Command::cargo_bin("springflash").expect("the program is built");
        command.args(arguments).current_dir(&self.folder);
        command
    }

    /// Runs a command and returns its exit code, its output and its messages.
    fn run(&self, arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
        let run = self.springflash(arguments).write_stdin(input.to_owned()).output().expect("the program");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (run.status.code(), text(&run.stdout), text(&run.stderr))
    }

    /// Runs a command that fails because `file` cannot be written.
    fn fails(&self, arguments: &[&str], input: &str, file: &str) {
        let (code, _, message) = self.run(arguments, input);
        assert_eq!(code, Some(1), "{arguments:?}: {message}");
        for part in [file, "No space left on device", "free some space", "repeat the command"] {
            assert!(message.contains(part), "{arguments:?}: no \"{part}\": {message}");
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Its input ends, so it does.
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

fn pairs(range: std::ops::Range<u32>) -> String {
    range.map(|n| format!("key {n}\tvalue of {n}\n")).collect()
}

fn keys(range: std::ops::Range<u32>) -> String {
    range.map(|n| format!("key {n}\n")).collect()
}

#[test]
fn an_index_keeps_what_it_holds_and_takes_more_when_there_is_space() {
    let Some(disk) = SmallDisk::new("24m") else { return };
    disk.springflash(&["index", "create", "index"]).assert().success();
    disk.springflash(&["index", "put", "index"]).write_stdin(pairs(0..50_000)).assert().success();
    let is_whole = || {
        let (code, found, message) = disk.run(&["index", "get", "index"], &keys(0..50_000));
        assert_eq!(code, Some(0), "{message}");
        assert!(found == pairs(0..50_000), "{} lines: {message}", found.lines().count());
        disk.springflash(&["index", "verify", "index"]).assert().success();
    };
    disk.fill(usize::MAX);
    disk.fails(&["index", "put", "index"], &pairs(50_000..500_000), "index/records");
    is_whole();
    disk.fails(&["index", "delete", "index"], &keys(0..50_000), "cannot write index/");
    is_whole();
    disk.free();
    // Full again, by the index itself: it fails when it moves entries to buckets, too.
    disk.fill(4 << 20);
    disk.fails(&["index", "put", "index"], &pairs(50_000..2_000_000), "index/");
    is_whole();
    disk.fails(&["index", "delete", "index"], &keys(0..50_000), "cannot write index/");
    is_whole();
    disk.free();
    disk.springflash(&["index", "put", "index"]).write_stdin(pairs(50_000..60_000)).assert().success();
    let (_, found, _) = disk.run(&["index", "get", "index"], &keys(40_000..60_000));
    assert!(found == pairs(40_000..60_000), "{} lines", found.lines().count());
    disk.springflash(&["index", "delete", "index"]).write_stdin(keys(0..50_000)).assert().success();
    disk.springflash(&["index", "get", "index"]).write_stdin(keys(0..50_000)).assert().code(3);
    disk.springflash(&["index", "verify", "index"]).assert().success();
}

/// The line that a message names, and what it says after it.
fn named_line<'m>(message: &'m str, file: &str) -> (u32, &'m str) {
    let (_, rest) = message.split_once(&format!("{file}, line ")).unwrap_or_else(|| panic!("{message}"));
    let (line, rest) = rest.split_once(": ").expect("a message");
    (line.parse().expect("a number"), rest)
}

fn lines_of(path: &Path, count: u32) -> String {
    let lines: String = keys(0..count);
    fs::write(path, &lines).expect("keys");
    lines
}

#[test]
fn a_set_that_cannot_grow_names_the_line_and_keeps_those_before_it() {
    for options in [&["--grow"][..], &["--grow", "--print-new"]] {
        let Some(disk) = SmallDisk::new("4m") else { return };
        let outside = tempfile::tempdir().expect("a folder");
        let file = outside.path().join("keys");
        lines_of(&file, 200_000);
        let file = file.to_str().expect("text");
        let (code, _, message) = disk.run(&["set", "create", "large", "--capacity", "1e8"], "");
        let told = "free; free some space, or choose a smaller capacity or another disk";
        assert!(code == Some(2) && message.contains(told), "{message}");
        let create = ["set", "create", "set", "--capacity", "100k", "--memory", "1MiB", "--fpr", "0.0001"];
        disk.springflash(&create).assert().success();
        disk.fill(usize::MAX);
        let add = [&["set", "add", "set", "--memory", "1MiB", file], options].concat();
        let (code, printed, message) = disk.run(&add, "");
        assert_eq!(code, Some(1), "{message}");
        let (line, told) = named_line(&message, file);
        assert!((100_001..102_000).contains(&line), "{message}");
        for part in
            ["set is full and cannot grow: set/filter-0001 would take", "0 B free", "Free some space there"]
        {
            assert!(told.contains(part), "no \"{part}\": {message}");
        }
        assert!(told.contains(&format!("the {} lines before it were added to the set", line - 1)), "{told}");
        let count = |keys: &str| disk.run(&["set", "check", "set", "--count", "--memory", "1MiB"], keys).1;
        assert_eq!(count(&keys(0..line - 1)), format!("{}\n", line - 1));
        // The set takes nothing beyond its rate, however often it is asked.
        let (code, _, again) = disk.run(&add, "");
        assert_eq!((code, named_line(&again, file).0), (Some(1), line), "{again}");
        let wrong: u32 = count(&keys(1_000_000..1_100_000)).trim().parse().expect("a count");
        assert!(wrong < 40, "{wrong} of 100,000 absent keys at a rate of 0.0001");
        disk.free();
        let (code, printed_then, message) = disk.run(&add, "");
        assert_eq!(code, Some(0), "{message}");
        assert_eq!(count(&keys(0..200_000)), "200000\n");
        if options.contains(&"--print-new") {
            let all: Vec<&str> = printed.lines().chain(printed_then.lines()).collect();
            let distinct: HashSet<&str> = all.iter().copied().collect();
            assert_eq!(all.len(), distinct.len(), "a key was printed and not added");
            assert!(all.len() > 199_900, "{} keys were printed", all.len());
        }
    }
}
