//! Runs commands that write records.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, io, thread};

use anyhow::{Context, Result, ensure};
use springbloom_console::folder;
use springbloom_console::signals::PARENT_VARIABLE;
use springbloom_records::Record;

use super::folders;
use crate::run::{Program, Run, Size};

/// Runs commands of a size, with databases in a folder.
pub(super) struct Runner {
    folder: PathBuf,
    size: Size,
    /// Keeps other runners away.
    _lock: File,
}

/// Lies in folders that a runner made: it removes no others.
const MARK: &str = "made-by-reproduce";
/// A command that lost its runner ends soon after it.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);

/// Keys of a file of keys.
const KEYS: u64 = 200_000;
/// Where they are.
const KEYS_FOLDER: &str = "keys";

impl Runner {
    pub(super) fn new(folder: PathBuf, size: Size) -> Result<Self> {
        let lock = folder::lock(&folder, "springbloom reproduce")?;
        Ok(Self { folder, size, _lock: lock })
    }

    /// Runs `run`, and gives its record.
    pub(super) fn run(&self, run: &Run) -> Result<Record> {
        match &run.program {
            Program::Springbloom { databases } => self.springbloom(run, databases.as_deref()),
            Program::Bench { folder, bench } => self.bench(run, folder, bench),
        }
    }

    fn databases(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}-{}", self.size.name()))
    }

    /// The same folder, made if it is missing.
    fn make_databases(&self, name: &str) -> Result<PathBuf> {
        let folder = self.databases(name);
        if !folder.exists() {
            fs::create_dir(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        let mark = folder.join(MARK);
        let is_ours = is_marked(&folder);
        ensure!(
            is_ours || is_empty(&folder),
            "{} was not made by springbloom reproduce: move it away, or choose another --dir",
            folder.display()
        );
        if !is_ours {
            fs::write(&mark, "").with_context(|| format!("cannot write {}", mark.display()))?;
        }
        let started = Instant::now();
        while let Err(error) = folder::lock(&folder, "springbloom compare") {
            ensure!(started.elapsed() < PATIENCE, error);
            thread::sleep(PAUSE);
        }
        Ok(folder)
    }

    fn springbloom(&self, run: &Run, databases: Option<&str>) -> Result<Record> {
        let mut command = Command::new(env::current_exe().context("the path of this program")?);
        command.args(run.arguments(self.size)).arg("--json");
        if let Some(databases) = databases {
            command.arg("--reuse").arg("--dir").arg(self.make_databases(databases)?);
        }
        if run.key_bytes.is_some() {
            command.arg("--keys").arg(self.keys(run)?);
        }
        command.env(PARENT_VARIABLE, std::process::id().to_string());
        let output = command.stderr(Stdio::inherit()).output().context("cannot start springbloom")?;
        ensure!(output.status.success(), "it ended with {}", output.status);
        Record::parse(&output.stdout)
    }

    fn bench(&self, run: &Run, folder: &str, bench: &str) -> Result<Record> {
        let checkout = checkout()
            .context("it is a benchmark of a crate: run this in a checkout of Springbloom, with cargo")?;
        let databases = self.make_databases(bench)?;
        let databases = std::path::absolute(&databases)
            .with_context(|| format!("cannot find {}", databases.display()))?;
        let record = databases.join("record.json");
        let manifest = format!("{folder}/Cargo.toml");
        let cargo = |after: &[&str]| -> Result<Command> {
            let mut command = Command::new("cargo");
            command
                .args(["bench", "--quiet", "--locked", "--manifest-path", &manifest, "--bench", bench])
                .args(after);
            command.current_dir(&checkout).stdout(Stdio::null());
            // As `make` does: the program and the benchmarks have most dependencies in common.
            if env::var_os("CARGO_TARGET_DIR").is_none() {
                command.env("CARGO_TARGET_DIR", folders::target_folder()?);
            }
            Ok(command)
        };
        let succeed = |mut command: Command| -> Result<()> {
            let status = command.status().context("cannot start cargo")?;
            ensure!(status.success(), "it ended with {status}");
            Ok(())
        };
        // Compiling is no part of the measurement.
        succeed(cargo(&["--no-run"])?)?;
        // That of another run would be taken for its own.
        _ = fs::remove_file(&record);
        let mut command = cargo(&["--"])?;
        command.args(run.arguments(self.size));
        command.envs(run.environment(self.size).iter().map(|(name, value)| (name, value)));
        command.env("SPRINGBLOOM_RECORD", &record).env("SPRINGBLOOM_BENCH_DIR", &databases);
        succeed(command)?;
        Record::read(&record)?.context("it wrote no record")
    }

    /// A file of keys that are as long as `run` needs: 16 digits that are in no order, and a tail that all have in common.
    fn keys(&self, run: &Run) -> Result<PathBuf> {
        let path = self.make_databases(KEYS_FOLDER)?.join(run.keys_name());
        let tail = "x".repeat(run.key_bytes.unwrap_or_default().saturating_sub(16));
        let write = || -> io::Result<()> {
            let mut out = BufWriter::new(File::create(&path)?);
            for number in 0..KEYS {
                // The golden ratio spreads numbers evenly.
                let scattered = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 10_000_000_000_000_000;
                writeln!(out, "{scattered:016}{tail}")?;
            }
            out.flush()
        };
        write().with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// Removes the databases and keys of `run`, if none of the runs that follow uses them.
    pub(super) fn clean(&self, run: &Run, next: &[&Run]) -> Result<()> {
        if run.key_bytes.is_some() && next.iter().all(|next| next.key_bytes.is_none()) {
            self.remove(KEYS_FOLDER)?;
        }
        match &run.program {
            _ if next.iter().any(|next| next.program == run.program) => Ok(()),
            Program::Springbloom { databases: Some(name) } | Program::Bench { bench: name, .. } => {
                self.remove(name)
            }
            Program::Springbloom { databases: None } => Ok(()),
        }
    }

    /// Removes a folder that a runner made, unless a command that lost its runner still uses it.
    fn remove(&self, name: &str) -> Result<()> {
        let folder = self.databases(name);
        if !is_marked(&folder) {
            return Ok(());
        }
        let _lock = folder::lock(&folder, "springbloom compare")?;
        remove_mark_last(&folder).with_context(|| format!("cannot remove {}", folder.display()))
    }
}

/// Removes `folder`. If that is interrupted, the mark still says whose the rest is.
fn remove_mark_last(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else if entry.file_name() != MARK {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_dir_all(folder)
}

/// Whether a runner made `folder`. A link is somebody's, wherever it leads.
fn is_marked(folder: &Path) -> bool {
    !folder.is_symlink() && folder.join(MARK).exists()
}

/// Whether `folder` has nothing of anybody's: it is new, or a runner was killed before it marked it.
fn is_empty(folder: &Path) -> bool {
    !folder.is_symlink() && fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// The root of the checkout that the current folder is in.
fn checkout() -> Option<PathBuf> {
    let folder = env::current_dir().ok()?;
    folder.ancestors().find(|root| root.join("flash/bench").is_dir()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn tree() -> Program {
        Program::Springbloom { databases: Some("tree".to_owned()) }
    }

    fn run() -> Run {
        Run::new("run", "x", tree(), "compare", ["", ""], None)
    }

    #[test]
    fn keys_are_distinct_and_as_long_as_asked_for() {
        let folder = tempfile::tempdir().expect("folder");
        let runner = Runner::new(folder.path().to_owned(), Size::Quick).expect("alone");
        let run =
            Run::new("keys", "x", Program::Springbloom { databases: None }, "compare", ["", ""], Some(40));
        let text = fs::read_to_string(runner.keys(&run).expect("write")).expect("read");
        let keys: BTreeSet<_> = text.lines().collect();
        assert_eq!(keys.len() as u64, KEYS);
        assert!(keys.iter().all(|key| key.len() == 40));
        assert!(run.command(Size::Quick).ends_with(&["--keys".to_owned(), "keys-40".to_owned()]));
        runner.clean(&run, &[]).expect("clean");
        assert_eq!(fs::read_dir(folder.path()).expect("folder").count(), 0);
    }

    #[test]
    fn databases_stay_until_their_last_run() {
        let folder = tempfile::tempdir().expect("folder");
        let runner = Runner::new(folder.path().to_owned(), Size::Quick).expect("alone");
        let run = |name: &str| Run::new(name, "x", tree(), "compare", [name, name], None);
        let (first, last) = (run("first"), run("last"));
        let databases = runner.make_databases("tree").expect("made");
        assert_eq!(runner.make_databases("tree").expect("it is there"), databases);
        runner.clean(&first, &[&last]).expect("clean");
        assert!(databases.exists());
        let used = folder::lock(&databases, "another").expect("locked");
        assert!(
            runner.clean(&last, &[]).is_err() && databases.exists(),
            "a command that lost its runner uses it"
        );
        drop(used);
        runner.clean(&last, &[]).expect("clean");
        assert!(!databases.exists());
        runner.clean(&last, &[]).expect("nothing to clean is no error");
    }

    #[test]
    fn an_empty_folder_of_a_runner_that_was_killed_is_taken_over() {
        let folder = tempfile::tempdir().expect("folder");
        let runner = Runner::new(folder.path().to_owned(), Size::Quick).expect("alone");
        let left = folder.path().join("tree-quick");
        fs::create_dir(&left).expect("a folder");
        assert_eq!(runner.make_databases("tree").expect("taken over"), left);
        runner.clean(&run(), &[]).expect("clean");
        assert!(!left.exists());
    }

    #[test]
    fn a_link_is_not_taken_over_wherever_it_leads() {
        let [folder, elsewhere] = [(); 2].map(|()| tempfile::tempdir().expect("folder"));
        let runner = Runner::new(folder.path().to_owned(), Size::Quick).expect("alone");
        std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("tree-quick")).expect("a link");
        let refused = || {
            let error = runner.make_databases("tree").expect_err("foreign").to_string();
            assert!(error.contains("was not made by springbloom reproduce"), "{error}");
            runner.clean(&run(), &[]).expect("not ours");
            fs::read_dir(elsewhere.path()).expect("folder").count()
        };
        assert_eq!(refused(), 0);
        for name in [MARK, "mine.txt"] {
            fs::write(elsewhere.path().join(name), "").expect("a file");
        }
        assert_eq!(refused(), 2, "a folder that a runner made and somebody moved");
    }

    #[test]
    fn what_no_runner_made_stays() {
        let folder = tempfile::tempdir().expect("folder");
        let runner = Runner::new(folder.path().to_owned(), Size::Quick).expect("alone");
        let foreign = folder.path().join("tree-quick/mine.txt");
        fs::create_dir(foreign.parent().expect("a folder")).expect("a folder");
        fs::write(&foreign, "precious").expect("a file");
        let error = runner.make_databases("tree").expect_err("foreign").to_string();
        assert!(error.contains("move it away"), "{error}");
        runner.clean(&run(), &[]).expect("nothing to clean");
        assert_eq!(fs::read_to_string(&foreign).expect("it is there"), "precious");
        let error = Runner::new(folder.path().to_owned(), Size::Full).map(drop).expect_err("two").to_string();
        assert!(error.contains("in use by another springbloom reproduce"), "{error}");
    }
}
