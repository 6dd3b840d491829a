//! Synthetic backup streams with a given number of lookups per new chunk (BloomStore's traces: 4.1 for `linux`, 1.6 for `vx`). Chunks come
//! in runs. A run is new, or repeats an earlier place of the stream.

use springbloom_flash_index::{FlashIndex, IndexMemory, IndexSettings};

use crate::setup::{KEY_BYTES, Setup, mix, value_of};

/// Average chunks per run: 1 MB in chunks of 8 KiB.
const RUN: u64 = 128;
const BATCH: usize = 1024;

/// The next chunks of the stream, by number. Numbers from `known` on are new.
struct Stream {
    draw: u64,
    known: u64,
    lookups_per_new: f64,
    /// Position in the run, and chunks left in it.
    at: u64,
    left: u64,
}

impl Stream {
    fn uniform(&mut self) -> f64 {
        self.draw = self.draw.wrapping_add(1);
        mix(self.draw) as f64 / u64::MAX as f64
    }

    fn next(&mut self) -> u64 {
        if self.left == 0 {
            self.left = 1 + (-self.uniform().max(1e-9).ln() * RUN as f64) as u64;
            let is_new = self.known < RUN || self.uniform() < 1.0 / self.lookups_per_new;
            self.at = if is_new { self.known } else { (self.uniform() * self.known as f64) as u64 };
        }
        let number = self.at;
        (self.at, self.left) = (number + 1, self.left - 1);
        self.known = self.known.max(self.at);
        number
    }
}

/// Streams of `SPRINGBLOOM_BENCH_KEYS` lookups.
pub(crate) fn run(setup: &Setup) {
    for (name, lookups_per_new) in [("linux, 4.1 : 1", 4.1), ("vx, 1.6 : 1", 1.6)] {
        for with_locality in [true, false] {
            let mut stream = Stream { draw: setup.seed, known: 0, lookups_per_new, at: 0, left: 0 };
            let mut left = setup.keys;
            let next = || {
                left = left.checked_sub(1)?;
                Some(setup.key(stream.next()))
            };
            look_up_and_put(setup, name, with_locality, next);
        }
    }
}

/// Looks up all keys in an empty index, batch by batch, and puts the absent ones.
fn look_up_and_put(
    setup: &Setup,
    name: &str,
    with_locality: bool,
    mut next: impl FnMut() -> Option<[u8; KEY_BYTES]>,
) {
    let index = FlashIndex::create(&setup.fresh("trace"), IndexSettings::new(0), IndexMemory::standard())
        .expect("an index");
    let mut seen = index.stream(16);
    let start = std::time::Instant::now();
    loop {
        let keys: Vec<[u8; KEY_BYTES]> = std::iter::from_fn(&mut next).take(BATCH).collect();
        if keys.is_empty() {
            break;
        }
        let wanted: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let values = if with_locality { seen.get_many(&wanted) } else { index.get_many(&wanted) };
        let mut new: Vec<&[u8; KEY_BYTES]> = Vec::new();
        for (key, value) in keys.iter().zip(values.expect("get")) {
            match value {
                Some(value) => assert_eq!(value[..], value_of(key)),
                None => new.push(key),
            }
        }
        new.sort_unstable();
        new.dedup();
        let pairs: Vec<_> = new.iter().map(|key| (&key[..], value_of(key))).collect();
        let pairs: Vec<(&[u8], &[u8])> = pairs.iter().map(|(key, value)| (*key, &value[..])).collect();
        index.put_many(&pairs).expect("put");
    }
    index.commit().expect("commit");
    let stats = index.stats();
    let written = stats.log_bytes_written + stats.bucket_bytes_written + stats.manifest_bytes_written;
    println!(
        "{name}, {} locality: {} lookups, {:>9.0} a second, {:.2} for each new one, {:.4} reads per lookup, {:.3} B written per B",
        if with_locality { "with" } else { "without" },
        stats.lookups,
        stats.lookups as f64 / start.elapsed().as_secs_f64(),
        stats.lookups as f64 / stats.records_appended as f64,
        stats.reads_per_lookup().unwrap_or(f64::NAN),
        written as f64 / stats.inserted_bytes as f64,
    );
}
