//! Reads per second of one or more callers, as a share of what `fio` reaches with 32 random reads of 4 KiB in flight on the files of the
//! index. Each short run of the index lies between two of `fio` and is divided by their mean, so a slow change of load affects both.

use springbloom_flash_index::FlashIndex;

use crate::open_ours;
use crate::setup::{self, Setup, median_and_quarters, processor_seconds};

/// Runs for each number of callers.
const RUNS: usize = 15;

/// Callers, and the number of present keys among 64: all, or as many as in a backup stream with 4.1 lookups per new chunk.
const CASES: [(&str, u64, usize); 4] = [
    ("1 caller, hits", 1, 64),
    ("1 caller, 4.1 : 1", 1, 48),
    ("2 callers, hits", 2, 64),
    ("4 callers, hits", 4, 64),
];

/// Result of one run.
struct Measured {
    lookups_per_second: f64,
    reads_per_lookup: f64,
    processor_us: f64,
}

pub(crate) fn run(setup: &Setup) {
    let index = open_ours(setup);
    let ours = setup.directory.join("ours");
    let files = [ours.join("records"), ours.join("buckets")];
    let device =
        || springbloom_testkit::fio::random_reads_per_second(&files, 32, setup.time / 3).unwrap_or(f64::NAN);
    let mut shares = vec![Vec::new(); CASES.len()];
    let mut draw = setup.seed;
    let mut before = device();
    for _ in 0..RUNS {
        for ((name, callers, present), shares) in CASES.into_iter().zip(&mut shares) {
            let measured = look_up(setup, &index, callers, present, &mut draw);
            let after = device();
            let most = (before + after) / 2.0;
            let share = measured.lookups_per_second * measured.reads_per_lookup / most;
            println!(
                "{name}: {:>9.0}/s of {:.3} reads and {:.2} us of processor, fio {most:>7.0} reads/s: {share:.2}",
                measured.lookups_per_second, measured.reads_per_lookup, measured.processor_us
            );
            shares.push(share);
            before = after;
        }
    }
    for ((name, ..), shares) in CASES.into_iter().zip(&mut shares) {
        println!("{name}: {} of what the device allows", median_and_quarters(shares));
    }
}

/// Looks keys up for a third of the measuring time.
fn look_up(setup: &Setup, index: &FlashIndex, callers: u64, present: usize, draw: &mut u64) -> Measured {
    let before = index.stats();
    let run = |caller: u64| {
        let mut draw = setup::mix(*draw + caller);
        let processor = processor_seconds();
        let rate = setup::rate(setup.time / 3, || {
            let keys = setup.mixed_keys(&mut draw, present);
            let wanted: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
            let found = index.get_many(&wanted).expect("get").iter().flatten().count();
            assert_eq!(found, keys.len() * present / 64);
            setup::BATCH
        });
        (rate, processor_seconds() - processor)
    };
    let (lookups_per_second, processor) = std::thread::scope(|scope| {
        let run = &run;
        let workers: Vec<_> = (0..callers).map(|caller| scope.spawn(move || run(caller))).collect();
        let done = workers.into_iter().map(|worker| worker.join().expect("a thread"));
        done.fold((0.0, 0.0), |sum, this| (sum.0 + this.0, sum.1 + this.1))
    });
    *draw += callers;
    let after = index.stats();
    let lookups = (after.lookups - before.lookups) as f64;
    let reads = after.bucket_reads + after.page_reads - before.bucket_reads - before.page_reads;
    let processor_us = processor * 1e6 / lookups;
    Measured { lookups_per_second, reads_per_lookup: reads as f64 / lookups, processor_us }
}
