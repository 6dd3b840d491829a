//! Bucket chains and the index, measured alternately.

use springbloom_records::Unit;

use crate::open_ours;
use crate::ours::Ours;
use crate::setup::{self, Setup, median_and_quarters, processor_seconds};
use crate::skimpy::Skimpy;
use crate::store::{Store, measure};

/// Runs of each of the two.
const RUNS: usize = 9;

/// Bucket chains with the memory that the index has, at their best: 10 records per bucket and 3 bits of filter (0.7 bytes per key), or 6
/// records and no filter (0.67 bytes per key).
pub(crate) fn run(setup: &Setup) {
    for (records, bits) in [(10, 3), (6, 0)] {
        let name = format!("bucket chains of {records}, {bits} bits");
        let mut chains = measure(setup, &name, || Skimpy::make(setup, records, bits));
        let mut ours = Ours { index: open_ours(setup) };
        // Present keys among 64: all, none, and as many as in streams with 4.1 and 1.6 lookups per new chunk.
        for what in
            [("keys that are there", 64), ("absent keys", 0), ("keys, 4.1 : 1", 48), ("keys, 1.6 : 1", 24)]
        {
            ratio(setup, ("springbloom", &mut ours), (&name, &mut chains), what);
        }
    }
}

/// How many times as many lookups a store answers as its rival, with `present` keys among 64.
pub(crate) fn ratio(
    setup: &Setup,
    (name, store): (&str, &mut dyn Store),
    (rival_name, rival): (&str, &mut dyn Store),
    (what, present): (&str, usize),
) {
    let mut draw = setup.seed + 7;
    let (mut rates, mut processor) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let (rate, us) = look_up(setup, store, present, &mut draw);
        let (its_rate, its_us) = look_up(setup, rival, present, &mut draw);
        rates.push(rate / its_rate);
        processor.push(its_us / us);
    }
    let ratio = median_and_quarters(&mut rates);
    let of = [("store", name), ("rival", rival_name), ("lookups", what)];
    setup.figures.note("lookups_ratio", &of, rates[rates.len() / 2], Unit::TimeRatio);
    println!(
        "{name} looks up {ratio} times as many {what} as {rival_name}, with {} times less processor time",
        median_and_quarters(&mut processor)
    );
}

/// Lookups per second, and microseconds of CPU time for each.
fn look_up(setup: &Setup, store: &mut dyn Store, present: usize, draw: &mut u64) -> (f64, f64) {
    let (mut lookups, before) = (0, processor_seconds());
    let rate = setup::rate(setup.time / 3, || {
        let keys = setup.mixed_keys(draw, present);
        store.get_many(&keys);
        lookups += keys.len();
        keys.len() as u64
    });
    (rate, (processor_seconds() - before) * 1e6 / lookups as f64)
}
