//! Stores of one process over a simulated file system: calls of some hang, fail or lie, for all or for the filters alone. No store waits
//! for another, no answer is wrong, and nothing is left once they are closed.
//!
//! `SPRINGBLOOM_SIMULATIONS` sets the number of them (default: as many as 20 seconds allow), `SPRINGBLOOM_SEED` the first seed. With
//! `SPRINGBLOOM_STOCK=1` the stores have stock filters, which tells whether what fails is RocksDB's.

mod hang;
mod store;
mod worker;
mod world;

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::{Duration, Instant},
};

use springbloom_testkit::seed;

use self::world::World;
use crate::common::{ONE_AT_A_TIME, folder, number};

const SECONDS: u64 = 20;

#[test]
fn no_store_waits_for_another_and_no_answer_is_wrong() {
    let _one = ONE_AT_A_TIME.lock();
    let first = seed::seed("no_store_waits_for_another");
    let most = number("SPRINGBLOOM_SIMULATIONS", u64::MAX);
    let (begun, is_long) = (Instant::now(), most == u64::MAX);
    let mut lived = 0;
    while lived < most && !(is_long && begun.elapsed() > Duration::from_secs(SECONDS)) {
        let seed = first.wrapping_add(lived);
        println!("simulation {lived}, seed {seed}");
        let folder = folder();
        let live = || World::of(seed, folder.path()).live();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(live)) {
            println!("repeat with SPRINGBLOOM_SEED={seed} SPRINGBLOOM_SIMULATIONS=1");
            resume_unwind(panic);
        }
        lived += 1;
    }
    println!("{lived} simulations in {:?}", begun.elapsed());
}

#[test]
fn a_call_that_hangs_keeps_no_other_store_waiting() {
    let _one = ONE_AT_A_TIME.lock();
    hang::run(folder().path());
}
