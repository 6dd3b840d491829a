//! After a fault, filters are what they would have been without it.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{
    script::{absent_key, numbers},
    side::Side,
};
use crate::common::{IDLE_TIMEOUT, lacking_units};

/// A recovery that takes longer tells what it waits for.
const LONG: Duration = Duration::from_secs(5);

/// Waits until absent keys are rejected as ever, and gives how long it took.
///
/// # Panics
/// When that takes more than a minute.
pub(crate) fn wait(side: &Side) -> Duration {
    let elastic = side.elastic.as_ref().expect("elastic filters");
    let begun = Instant::now();
    let mut is_told = false;
    loop {
        let before = elastic.stats().outcomes.wasted_reads;
        let lookups = look_up_absent(side);
        let stats = elastic.stats();
        let wasted = stats.outcomes.wasted_reads - before;
        // Sixteen units let one in 65,536 pass, in each of a few tables. Known absences hide missing units, so units are counted, too.
        // A table that no reader has open may lack some: after a read that found no room, lookups must ask for units again.
        let have_units = lacking_units(&stats) == 0 || stats.closed_tables > 0;
        if wasted <= lookups / 1_000 && stats.failing_tables == 0 && have_units {
            return begun.elapsed();
        }
        if begun.elapsed() > LONG && !std::mem::replace(&mut is_told, true) {
            println!("after {LONG:?} {wasted} of {lookups} lookups waste a read: {stats:?}");
        }
        assert!(begun.elapsed() < IDLE_TIMEOUT, "{wasted} of {lookups} lookups wasted a read: {stats:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// An absent key after every key of every open store; how many.
fn look_up_absent(side: &Side) -> u64 {
    let mut lookups = 0;
    for (store, db) in side.open_stores() {
        for number in 0..numbers(store) {
            assert!(db.get_pinned(absent_key(number)).expect("a lookup").is_none());
            lookups += 1;
        }
    }
    lookups
}
