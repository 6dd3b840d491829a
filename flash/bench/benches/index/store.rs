//! The interface of the stores that are compared.

use std::time::Instant;

use springbloom_records::Unit;

use crate::setup::{BATCH, KEY_BYTES, Setup, rate, resident_bytes, value_of};

/// A durable map under measurement.
pub(crate) trait Store {
    fn put_many(&mut self, keys: &[[u8; KEY_BYTES]]);
    /// Makes all earlier puts durable.
    fn flush(&mut self);
    /// Reads the values of `keys` and returns how many were found. Panics at a wrong value.
    fn get_many(&mut self, keys: &[[u8; KEY_BYTES]]) -> usize;
    /// Device reads for lookups so far, if known.
    fn reads(&self) -> Option<u64>;
    /// Bytes written so far, if known.
    fn written_bytes(&self) -> Option<u64>;
    /// Memory in bytes, by the store's own count.
    fn counted_bytes(&self) -> Option<u64> {
        None
    }
}

/// Result of one measurement.
struct Measured {
    keys: u64,
    inserts_per_second: f64,
    memory_bytes_per_key: f64,
    counted_bytes_per_key: Option<f64>,
    hits_per_second: f64,
    reads_per_hit: Option<f64>,
    /// Median and 99th percentile of a lookup on its own.
    hit_us: [f64; 2],
    absent_per_second: f64,
    reads_per_absent: Option<f64>,
    absent_us: [f64; 2],
    written_per_inserted: Option<f64>,
}

/// Fills the store made by `make`, looks up random keys in batches, and prints the results. Memory is the growth of the process over the
/// one with the empty store, which says nothing about a store that takes all its memory at once. Needs a fresh process.
pub(crate) fn measure<S: Store>(setup: &Setup, name: &str, make: impl FnOnce() -> S) -> S {
    let mut store = make();
    let mut draw = setup.seed;
    // Allocates what is allocated on first use.
    assert_eq!(store.get_many(&setup.random_keys(&mut draw, false)), 0, "nothing was put yet");
    let empty_bytes = resident_bytes();
    let start = Instant::now();
    let mut put = 0;
    while put < setup.keys && start.elapsed() < setup.put_time {
        let end = (put + BATCH).min(setup.keys);
        store.put_many(&setup.key_range(put..end));
        if end.is_multiple_of(setup.flush_pairs) {
            store.flush();
        }
        put = end;
    }
    store.flush();
    let inserts_per_second = put as f64 / start.elapsed().as_secs_f64();
    let setup = &Setup { keys: put, ..setup.clone() };
    let mut phase = |store: &mut S, are_present: bool| {
        let before = store.reads();
        let mut looked_up = 0;
        let per_second = rate(setup.time, || {
            let keys = setup.random_keys(&mut draw, are_present);
            let found = store.get_many(&keys);
            assert_eq!(found, if are_present { keys.len() } else { 0 }, "found something else than was put");
            looked_up += keys.len();
            keys.len() as u64
        });
        let reads =
            store.reads().zip(before).map(|(after, before)| (after - before) as f64 / looked_up as f64);
        (per_second, reads)
    };
    let (hits_per_second, reads_per_hit) = phase(&mut store, true);
    let (absent_per_second, reads_per_absent) = phase(&mut store, false);
    let [hit_us, absent_us] =
        [true, false].map(|are_present| latencies_us(setup, &mut store, are_present, &mut draw));
    let grown = resident_bytes().saturating_sub(empty_bytes);
    let inserted = setup.keys as f64 * (KEY_BYTES + value_of(&[0; KEY_BYTES]).len()) as f64;
    let measured = Measured {
        keys: put,
        inserts_per_second,
        memory_bytes_per_key: grown as f64 / setup.keys as f64,
        counted_bytes_per_key: store.counted_bytes().map(|bytes| bytes as f64 / setup.keys as f64),
        hits_per_second,
        reads_per_hit,
        hit_us,
        absent_per_second,
        reads_per_absent,
        absent_us,
        written_per_inserted: store.written_bytes().map(|bytes| bytes as f64 / inserted),
    };
    measured.note(setup, name);
    measured.print(name);
    store
}

/// Lookups one by one, for a third of the time of a measurement.
fn latencies_us(setup: &Setup, store: &mut impl Store, are_present: bool, draw: &mut u64) -> [f64; 2] {
    let (mut us, start) = (Vec::new(), Instant::now());
    while start.elapsed() < setup.time / 3 {
        for key in setup.random_keys(draw, are_present).into_iter().take(64) {
            let begun = Instant::now();
            let found = store.get_many(&[key]);
            us.push(begun.elapsed().as_secs_f64() * 1e6);
            assert_eq!(found, usize::from(are_present), "found something else than was put");
        }
    }
    us.sort_by(f64::total_cmp);
    [0.5, 0.99].map(|share| us[((us.len() - 1) as f64 * share) as usize])
}

impl Measured {
    fn note(&self, setup: &Setup, name: &str) {
        let figures = [
            ("keys", Some(self.keys as f64), Unit::Count),
            ("inserts_per_s", Some(self.inserts_per_second), Unit::PerSecond),
            ("memory_bytes_per_key", Some(self.memory_bytes_per_key), Unit::BytesPerKey),
            ("counted_bytes_per_key", self.counted_bytes_per_key, Unit::BytesPerKey),
            ("hits_per_s", Some(self.hits_per_second), Unit::PerSecond),
            ("reads_per_hit", self.reads_per_hit, Unit::PerLookup),
            ("absent_per_s", Some(self.absent_per_second), Unit::PerSecond),
            ("reads_per_absent", self.reads_per_absent, Unit::PerLookup),
            ("hit_p50_us", Some(self.hit_us[0]), Unit::Microseconds),
            ("hit_p99_us", Some(self.hit_us[1]), Unit::Microseconds),
            ("absent_p50_us", Some(self.absent_us[0]), Unit::Microseconds),
            ("absent_p99_us", Some(self.absent_us[1]), Unit::Microseconds),
            ("written_per_byte", self.written_per_inserted, Unit::Ratio),
        ];
        for (figure, value, unit) in figures {
            value.into_iter().for_each(|value| setup.figures.note(figure, &[("store", name)], value, unit));
        }
    }

    fn print(&self, name: &str) {
        let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
        println!(
            "{name:28} {:>8} keys  {:>9.0} inserts/s  {:>6.3} B/key ({} counted)  \
             {:>8.0} hits/s ({} reads, alone {:.0} us, p99 {:.0})  {:>8.0} absent/s ({} reads, alone {:.0} us, p99 {:.0})  \
             {} B written per B",
            self.keys,
            self.inserts_per_second,
            self.memory_bytes_per_key,
            number(self.counted_bytes_per_key),
            self.hits_per_second,
            number(self.reads_per_hit),
            self.hit_us[0],
            self.hit_us[1],
            self.absent_per_second,
            number(self.reads_per_absent),
            self.absent_us[0],
            self.absent_us[1],
            number(self.written_per_inserted),
        );
    }
}
