//! What the test programs of this crate share.

#![allow(dead_code, reason = "every test program uses a part of it")]

pub(crate) mod budget_watch;
pub(crate) mod contents;
pub(crate) mod faults;
pub(crate) mod model;
pub(crate) mod stock;
pub(crate) mod tables;
pub(crate) mod unsafe_calls;

use std::{
    path::Path,
    process::Command,
    str::FromStr,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rocksdb::{DB, Options, WriteBatch};
use springbloom_rocksdb::{ElasticFilters, ElasticFiltersBuilder, LevelUnits, Stats};
use tempfile::TempDir;

/// Tests that break calls take turns: there is one simulated file system. So do all of the program `alone`.
pub(crate) static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Whether `test`, which asks this first, has passed in a process of its own, with these variables. `false` there, where it goes on.
pub(crate) fn has_passed_alone<T: Fn()>(_test: T, variables: &[(&str, &str)]) -> bool {
    const IS_ALONE: &str = "SPRINGBLOOM_IS_ALONE";
    if std::env::var_os(IS_ALONE).is_some() {
        return false;
    }
    let (_program, name) = std::any::type_name::<T>().split_once("::").expect("a path");
    let mut child = Command::new(std::env::current_exe().expect("this program"));
    child.args(["--exact", name, "--nocapture"]).env(IS_ALONE, "1").envs(variables.iter().copied());
    let output = child.output().expect("run");
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{}", output.status);
    true
}

/// Generous, because the machine may be busy.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) fn try_to_write(db: &DB, batch: WriteBatch) -> Result<(), rocksdb::Error> {
    #[cfg(rust_rocksdb)] // it borrows what `rocksdb` takes
    let batch = &batch;
    db.write(batch)
}

/// Writes a batch.
pub(crate) fn write(db: &DB, batch: WriteBatch) {
    try_to_write(db, batch).expect("write");
}

/// A folder on the disk of the build rather than in `/tmp`, which may be memory that refuses direct I/O.
pub(crate) fn folder() -> Folder {
    let folder = TempDir::with_prefix_in("springbloom-", env!("CARGO_TARGET_TMPDIR"));
    Folder(folder.expect("the build folder is writable"))
}

/// Removed at the end of a test that passes; what a failed one leaves is there to be looked at.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.disable_cleanup(true);
            eprintln!("left as it was: {}", self.0.path().display());
        }
    }
}

/// Options for small trees: a few hundred kilobytes make three levels of many tables.
pub(crate) fn small_tree() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_write_buffer_size(64 << 10);
    options.set_target_file_size_base(48 << 10);
    options.set_max_bytes_for_level_base(128 << 10);
    options.set_max_bytes_for_level_multiplier(3.0);
    options.set_level_compaction_dynamic_level_bytes(false);
    options.set_level_zero_file_num_compaction_trigger(3);
    options.set_max_background_jobs(2);
    options.set_compression_type(rocksdb::DBCompressionType::None);
    options.set_keep_log_file_num(2);
    options
}

/// Longest value that [`append`] makes: the newest bytes stay, which keeps it associative.
pub(crate) const MERGED_BYTES_MAX: usize = 200;

/// The tests' merge operator: appends `operand`.
pub(crate) fn append(value: Option<&[u8]>, operand: &[u8]) -> Vec<u8> {
    let mut merged = value.unwrap_or_default().to_vec();
    merged.extend_from_slice(operand);
    merged.drain(..merged.len().saturating_sub(MERGED_BYTES_MAX));
    merged
}

/// Makes `options` merge with [`append`].
pub(crate) fn merge_by_append(options: &mut Options) {
    options.set_merge_operator_associative("append", |_key, value, operands| {
        Some(
            operands
                .iter()
                .fold(value.unwrap_or_default().to_vec(), |merged, operand| append(Some(&merged), operand)),
        )
    });
}

/// Plenty for the small databases of these tests.
pub(crate) const AMPLE_BYTES: u64 = 16 << 20;

pub(crate) fn small_segments(budget_bytes: u64) -> ElasticFiltersBuilder {
    ElasticFilters::builder().budget_bytes(budget_bytes).segment_size(16 << 10)
}

pub(crate) fn build(builder: ElasticFiltersBuilder) -> ElasticFilters {
    builder.build().expect("the settings are sound")
}

/// An ample budget, and small segments.
pub(crate) fn ample() -> ElasticFilters {
    build(small_segments(AMPLE_BYTES))
}

/// `options` with elastic filters.
pub(crate) fn installed(elastic: &ElasticFilters, options: &Options) -> Options {
    let mut options = options.clone();
    elastic.install(&mut options).expect("install");
    options
}

/// Waits for something that a background thread brings about.
///
/// # Panics
/// When it does not come true in a time that is ample on a busy machine.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + IDLE_TIMEOUT;
    while !holds() {
        assert!(Instant::now() < deadline, "never came true: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A number from the environment.
pub(crate) fn number<N: FromStr>(variable: &str, default: N) -> N {
    std::env::var(variable)
        .map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}

/// The middle one.
pub(crate) fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Resident units of all segments together.
pub(crate) fn resident_units(stats: &Stats) -> u64 {
    stats.levels.iter().map(LevelUnits::units).sum()
}

/// Units of known tables that are not resident, of sixteen in each segment.
pub(crate) fn lacking_units(stats: &Stats) -> u64 {
    16 * stats.segments as u64 - resident_units(stats)
}

/// RocksDB's log of a database.
pub(crate) fn log_of(database: &Path) -> String {
    std::fs::read_to_string(database.join("LOG")).expect("the log can be read")
}

/// A metric without labels, in the text of all.
pub(crate) fn metric(text: &str, name: &str) -> u64 {
    let line = text.lines().find(|line| line.starts_with(&format!("{name} ")));
    let value = line.and_then(|line| line.rsplit(' ').next()).expect("the metric is there");
    value.parse::<f64>().expect("a number") as u64
}

/// Copies a folder of files, as a crash or a careless administrator would.
pub(crate) fn copy_files(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("the target can be made");
    for entry in std::fs::read_dir(from).expect("the source can be listed") {
        let path = entry.expect("the source can be listed").path();
        if path.is_file() {
            std::fs::copy(&path, to.join(path.file_name().expect("a file has a name")))
                .expect("a file can be copied");
        }
    }
}
