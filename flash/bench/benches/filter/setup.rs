//! Settings of a run, the header of its output, and filters to measure.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use springbloom_filter::KeyDigest;
use springbloom_flash_filter::{BufferSettings, FilterSettings, FlushPolicy, Layout};
use springbloom_records::Figures;

use crate::measured::Measured;

/// The paper's setting: 6 bits per key set, half of all bits when full.
pub(crate) const PROBES: u8 = 6;
pub(crate) const BITS_PER_KEY: f64 = PROBES as f64 / std::f64::consts::LN_2;
/// Memory of an open filter. The buffers of running lookups come on top, and both must stay below 2 bits per key.
pub(crate) const MEMORY_BITS_PER_KEY: f64 = 1.8;

/// The environment variables of settings.
pub(crate) const SETTINGS: [&str; 4] = [
    "SPRINGBLOOM_BENCH_MIB",
    "SPRINGBLOOM_BENCH_MILLISECONDS",
    "SPRINGBLOOM_BENCH_ROUNDS",
    "SPRINGBLOOM_SEED",
];

/// Settings of a run, each from an environment variable.
pub(crate) struct Setup {
    /// `SPRINGBLOOM_BENCH_DIR`: a folder on the device to measure. Default: the system's temporary folder.
    pub(crate) directory: PathBuf,
    /// `SPRINGBLOOM_BENCH_MIB`: size of the filter. Default: 256. Sections with many filters use a part of it.
    pub(crate) filter_bytes: u64,
    /// `SPRINGBLOOM_BENCH_MILLISECONDS`: time of each measurement. Default: 2,000.
    pub(crate) time: Duration,
    /// `SPRINGBLOOM_BENCH_ROUNDS`: repetitions, of which the median counts. Default: 3.
    pub(crate) rounds: usize,
    /// `SPRINGBLOOM_SEED`: default 1.
    pub(crate) seed: u64,
    /// What was measured so far, for the record of the run.
    pub(crate) figures: Figures,
}

impl Setup {
    pub(crate) fn from_environment() -> Setup {
        Setup {
            directory: springbloom_testkit::machine::directory("springbloom-flash-bench"),
            filter_bytes: springbloom_testkit::machine::number("SPRINGBLOOM_BENCH_MIB", 256) << 20,
            time: Duration::from_millis(springbloom_testkit::machine::number(
                "SPRINGBLOOM_BENCH_MILLISECONDS",
                2000,
            )),
            rounds: springbloom_testkit::machine::number("SPRINGBLOOM_BENCH_ROUNDS", 3) as usize,
            seed: springbloom_testkit::machine::number("SPRINGBLOOM_SEED", 1),
            figures: Figures::default(),
        }
    }

    /// The same run with a smaller filter and shorter measurements.
    pub(crate) fn scaled_down(&self, size: u64, time: u32) -> Setup {
        Setup {
            directory: self.directory.clone(),
            filter_bytes: self.filter_bytes / size,
            time: self.time / time,
            figures: self.figures.clone(),
            ..*self
        }
    }

    /// Removes the files of the run.
    pub(crate) fn clean(&self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }

    /// Machine, commit and settings, for the head of the output.
    pub(crate) fn header(&self) -> String {
        format!(
            "{}, seed {}\n{} MiB filter, {PROBES} bits per key set, {BITS_PER_KEY:.2} bits per \
             key, {MEMORY_BITS_PER_KEY} bits of memory per key, {} ms and {} rounds per measurement",
            springbloom_testkit::machine::description(),
            self.seed,
            self.filter_bytes >> 20,
            self.time.as_millis(),
            self.rounds,
        )
    }

    /// Capacity of a filter of the run's size.
    pub(crate) fn capacity_keys(&self) -> u64 {
        (self.filter_bytes as f64 * 8.0 * 508.0 / 512.0 / BITS_PER_KEY) as u64
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.capacity_keys() as f64 * MEMORY_BITS_PER_KEY / 8.0) as u64
    }

    pub(crate) fn settings(&self, layout: Layout) -> FilterSettings {
        FilterSettings::with_bits_per_key(self.capacity_keys(), BITS_PER_KEY, PROBES).layout(layout)
    }

    pub(crate) fn buffer(&self) -> BufferSettings {
        BufferSettings {
            policy: FlushPolicy::DirtiestGroupFirst,
            ..BufferSettings::with_memory_bytes(self.memory_bytes())
        }
    }

    /// An empty folder of this name.
    pub(crate) fn fresh(&self, name: &str) -> PathBuf {
        springbloom_testkit::machine::fresh(&self.directory, name)
    }

    /// The n-th key of a family. Families have no keys in common.
    pub(crate) fn key(&self, family: u64, n: u64) -> KeyDigest {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.seed.to_le_bytes());
        bytes[8..16].copy_from_slice(&family.to_le_bytes());
        bytes[16..].copy_from_slice(&n.to_le_bytes());
        KeyDigest::of(&bytes)
    }

    pub(crate) fn keys(&self, family: u64, range: std::ops::Range<u64>) -> Vec<KeyDigest> {
        range.map(|n| self.key(family, n)).collect()
    }

    /// Inserts keys `0..count` of family 0, flushes, and checks some of them.
    pub(crate) fn fill(&self, filter: &mut impl Measured, count: u64) {
        for first in (0..count).step_by(1 << 16) {
            filter.insert_many(&self.keys(0, first..count.min(first + (1 << 16))));
        }
        filter.flush();
        let sample = self.keys(0, 0..count.min(1000));
        assert!(filter.contains_many(&sample).iter().all(|found| *found), "a false negative");
    }
}

/// Repeats `work` for `time`. `work` returns its number of operations. Returns operations per second.
pub(crate) fn rate(time: Duration, mut work: impl FnMut() -> u64) -> f64 {
    let start = Instant::now();
    let mut operations = 0;
    while start.elapsed() < time {
        operations += work();
    }
    operations as f64 / start.elapsed().as_secs_f64()
}

/// The median (of an even number of values, the upper one).
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
