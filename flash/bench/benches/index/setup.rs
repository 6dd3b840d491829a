//! Settings of a run, the header of its output, keys and values.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use springbloom_records::Figures;

/// A key of 20 bytes, like a SHA-1 digest, with a value of 44 bytes: the sizes of the paper.
pub(crate) const KEY_BYTES: usize = 20;
pub(crate) const VALUE_BYTES: usize = 44;
/// Pairs or keys per call.
pub(crate) const BATCH: u64 = 1024;

/// The environment variables of settings.
pub(crate) const SETTINGS: [&str; 3] =
    ["SPRINGBLOOM_BENCH_KEYS", "SPRINGBLOOM_BENCH_SECONDS", "SPRINGBLOOM_SEED"];

/// Settings of a run, each from an environment variable.
#[derive(Clone)]
pub(crate) struct Setup {
    /// `SPRINGBLOOM_BENCH_DIR`: a folder on the device to measure. Default: the system's temporary folder.
    pub(crate) directory: PathBuf,
    /// `SPRINGBLOOM_BENCH_KEYS`: keys of the index. Default: 2 million.
    pub(crate) keys: u64,
    /// `SPRINGBLOOM_BENCH_SECONDS`: time of each measurement of lookups. Default: 3.
    pub(crate) time: Duration,
    /// `SPRINGBLOOM_SEED`. Default: 1.
    pub(crate) seed: u64,
    /// Pairs per commit.
    pub(crate) flush_pairs: u64,
    /// Time limit for puts. Lookups use the keys that were put by then.
    pub(crate) put_time: Duration,
    /// What was measured so far, for the record of the run.
    pub(crate) figures: Figures,
}

impl Setup {
    pub(crate) fn from_environment() -> Setup {
        Setup {
            directory: springbloom_testkit::machine::directory("springbloom-index-bench"),
            keys: springbloom_testkit::machine::number("SPRINGBLOOM_BENCH_KEYS", 2_000_000),
            time: Duration::from_secs(springbloom_testkit::machine::number("SPRINGBLOOM_BENCH_SECONDS", 3)),
            seed: springbloom_testkit::machine::number("SPRINGBLOOM_SEED", 1),
            flush_pairs: 128 * BATCH,
            put_time: Duration::MAX,
            figures: Figures::default(),
        }
    }

    /// Settings for stores under a memory ceiling: small transactions, since LMDB keeps changes in memory, and a time limit for puts, since
    /// some stores would take hours.
    pub(crate) fn under_ceiling(&self) -> Setup {
        let put_time =
            Duration::from_secs(springbloom_testkit::machine::number("SPRINGBLOOM_BENCH_PUT_SECONDS", 20));
        Setup { flush_pairs: 4 * BATCH, put_time, ..self.clone() }
    }

    /// Machine, commit and settings, for the head of the output.
    pub(crate) fn header(&self) -> String {
        format!(
            "{}, seed {}\n{} keys of {KEY_BYTES} bytes with values of {VALUE_BYTES}, \
             {} s per measurement of lookups, in {}",
            springbloom_testkit::machine::description(),
            self.seed,
            self.keys,
            self.time.as_secs(),
            self.directory.display(),
        )
    }

    /// An empty folder of this name.
    pub(crate) fn fresh(&self, name: &str) -> PathBuf {
        springbloom_testkit::machine::fresh(&self.directory, name)
    }

    /// The n-th key. Keys from [`Setup::keys`] on are absent.
    pub(crate) fn key(&self, n: u64) -> [u8; KEY_BYTES] {
        let mut key = [0; KEY_BYTES];
        for (word, bytes) in key.chunks_mut(8).enumerate() {
            let word = mix(mix(self.seed ^ (word as u64) << 56) ^ n);
            bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
        }
        key
    }

    pub(crate) fn key_range(&self, range: std::ops::Range<u64>) -> Vec<[u8; KEY_BYTES]> {
        range.map(|n| self.key(n)).collect()
    }

    /// `BATCH` random keys, of which `present` in 64 are present.
    pub(crate) fn mixed_keys(&self, draw: &mut u64, present: usize) -> Vec<[u8; KEY_BYTES]> {
        let (there, absent) = (self.random_keys(draw, true), self.random_keys(draw, false));
        (0..there.len()).map(|i| if i % 64 < present { there[i] } else { absent[i] }).collect()
    }

    /// `BATCH` random present keys, or as many absent ones.
    pub(crate) fn random_keys(&self, draw: &mut u64, are_present: bool) -> Vec<[u8; KEY_BYTES]> {
        let first = if are_present { 0 } else { self.keys };
        let next = |_| {
            *draw = draw.wrapping_add(0x9e37_79b9_7f4a_7c15);
            self.key(first + mix(*draw) % self.keys)
        };
        (0..BATCH).map(next).collect()
    }
}

/// The value of a key, derived from it.
pub(crate) fn value_of(key: &[u8; KEY_BYTES]) -> [u8; VALUE_BYTES] {
    std::array::from_fn(|i| key[i % KEY_BYTES] ^ (i / KEY_BYTES) as u8)
}

/// SplitMix64's finaliser.
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
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

/// Bytes read from devices for this process.
pub(crate) fn device_read_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("read_bytes: "));
    line.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}

/// CPU time of this thread, in seconds.
pub(crate) fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns: u64 = text.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0);
    ns as f64 / 1e9
}

/// Median and quartiles of `values`, for people: "1.02 (0.97 to 1.10)".
pub(crate) fn median_and_quarters(values: &mut [f64]) -> String {
    values.sort_by(f64::total_cmp);
    let at = |quarter: usize| values[quarter * (values.len() - 1) / 4];
    format!("{:.2} ({:.2} to {:.2})", at(2), at(1), at(3))
}

/// Resident memory of this process, in bytes.
pub(crate) fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
    pages * 4096
}
