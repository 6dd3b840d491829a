//! Where and how large: settings of a run, its header, keys and values.

use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A 20-byte key, as a SHA-1 digest is, with its value of 44 bytes: the paper's pairs.
pub(crate) const KEY_BYTES: usize = 20;
pub(crate) const VALUE_BYTES: usize = 44;
/// Pairs put, or keys looked up, in one call.
pub(crate) const BATCH: u64 = 1024;

/// Settings of a run, each from an environment variable.
#[derive(Clone)]
pub(crate) struct Setup {
    /// `SPRINGBLOOM_BENCH_DIR`: on the device to measure. Default: a folder in the system's temporary folder.
    pub(crate) directory: PathBuf,
    /// `SPRINGBLOOM_BENCH_KEYS`: keys of the index, default 2 million.
    pub(crate) keys: u64,
    /// `SPRINGBLOOM_BENCH_SECONDS`: time of each measurement of lookups, default 3.
    pub(crate) time: Duration,
    /// `SPRINGBLOOM_SEED`: default 1.
    pub(crate) seed: u64,
    /// Pairs that are made durable together.
    pub(crate) flush_pairs: u64,
    /// After this, no more is put; what was put by then is looked up.
    pub(crate) put_time: Duration,
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
        }
    }

    /// As it is for stores that are compared under a memory ceiling: small transactions, since LMDB keeps what one changes in memory,
    /// and an end to putting, since some would take hours.
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

    /// The n-th key; those from [`Setup::keys`] on are absent.
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

    /// `BATCH` random keys, `present` of 64 of them there.
    pub(crate) fn mixed_keys(&self, draw: &mut u64, present: usize) -> Vec<[u8; KEY_BYTES]> {
        let (there, absent) = (self.random_keys(draw, true), self.random_keys(draw, false));
        (0..there.len()).map(|i| if i % 64 < present { there[i] } else { absent[i] }).collect()
    }

    /// `BATCH` random ones of the keys that are there, or of as many that are not.
    pub(crate) fn random_keys(&self, draw: &mut u64, are_present: bool) -> Vec<[u8; KEY_BYTES]> {
        let first = if are_present { 0 } else { self.keys };
        let next = |_| {
            *draw = draw.wrapping_add(0x9e37_79b9_7f4a_7c15);
            self.key(first + mix(*draw) % self.keys)
        };
        (0..BATCH).map(next).collect()
    }
}

/// The value of a key: tells whose it is.
pub(crate) fn value_of(key: &[u8; KEY_BYTES]) -> [u8; VALUE_BYTES] {
    std::array::from_fn(|i| key[i % KEY_BYTES] ^ (i / KEY_BYTES) as u8)
}

/// SplitMix64's finaliser.
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Repeats `work` (which returns how many operations it did) for `time`; operations per second.
pub(crate) fn rate(time: Duration, mut work: impl FnMut() -> u64) -> f64 {
    let start = Instant::now();
    let mut operations = 0;
    while start.elapsed() < time {
        operations += work();
    }
    operations as f64 / start.elapsed().as_secs_f64()
}

/// Bytes that this process has had read from devices.
pub(crate) fn device_read_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("read_bytes: "));
    line.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}

/// Seconds that this thread has had a processor.
pub(crate) fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns: u64 = text.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0);
    ns as f64 / 1e9
}

/// The middle one of `values` and the first and third quarter, for people: "1.02 (0.97 to 1.10)".
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
