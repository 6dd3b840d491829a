//! What callers reach of what the device can do, which is what `fio` reaches with 32 random reads of 4 KiB in flight on the very files of the
//! index, divided by the reads that a lookup makes. Each short turn of the index lies between two of `fio`: its share is that of
//! their mean, so a load that changes slowly weighs on both.

use springbloom_flash_index::FlashIndex;

use crate::open_ours;
use crate::setup::{self, Setup, median_and_quarters, processor_seconds};

/// How often each number of callers has a turn.
const TURNS: usize = 15;

/// Callers, and how many of 64 keys are there: all; and as many as in a backup stream with 4.1 lookups for each new chunk.
const CASES: [(&str, u64, usize); 4] = [
    ("1 caller, hits", 1, 64),
    ("1 caller, 4.1 : 1", 1, 48),
    ("2 callers, hits", 2, 64),
    ("4 callers, hits", 4, 64),
];

/// What one turn showed.
struct Turn {
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
    for _ in 0..TURNS {
        for ((name, callers, present), shares) in CASES.into_iter().zip(&mut shares) {
            let turn = look_up(setup, &index, callers, present, &mut draw);
            let after = device();
            let most = (before + after) / 2.0;
            let share = turn.lookups_per_second * turn.reads_per_lookup / most;
            println!(
                "{name}: {:>9.0}/s of {:.3} reads and {:.2} us of processor, fio {most:>7.0} reads/s: {share:.2}",
                turn.lookups_per_second, turn.reads_per_lookup, turn.processor_us
            );
            shares.push(share);
            before = after;
        }
    }
    for ((name, ..), shares) in CASES.into_iter().zip(&mut shares) {
        println!("{name}: {} of what the device allows", median_and_quarters(shares));
    }
}

/// Looks keys up for a third of the time that a measurement takes.
fn look_up(setup: &Setup, index: &FlashIndex, callers: u64, present: usize, draw: &mut u64) -> Turn {
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
    Turn { lookups_per_second, reads_per_lookup: reads as f64 / lookups, processor_us }
}
