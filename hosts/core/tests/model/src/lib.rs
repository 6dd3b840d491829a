//! The life of a table (`hosts/core`: `table_life.rs`, `gate.rs`; the manager's queue of tables that wait: `waiting.rs`, `in_flight.rs`)
//! under a scheduler that tries orders of its threads: one of the engine opens and closes tables and their database, one of the pool reads
//! directories and does chores, one moves the budget.
//!
//! Each run is one order of threads, in which at most three lose their turn, and one history of two tables, of which the pool tries up to
//! four times to open one. The product's own code runs; `build.rs` puts it under the scheduler's locks, and plants faults, all of which
//! must be found.

#![cfg(test)]

mod sync;

include!(concat!(env!("OUT_DIR"), "/variants.rs"));

/// Orders of threads that are tried.
const RUNS: usize = 10_000;
const PREEMPTIONS: usize = 3;

/// Whether any run breaks what is promised.
fn breaks(live: fn()) -> bool {
    let explore = || {
        shuttle::check_pct(live, RUNS, PREEMPTIONS);
        shuttle::check_random(live, RUNS);
    };
    std::panic::catch_unwind(explore).is_err()
}

#[test]
fn no_order_of_threads_breaks_what_is_promised() {
    shuttle::check_pct(right::live, RUNS, PREEMPTIONS);
    shuttle::check_random(right::live, RUNS);
}

#[test]
fn planted_faults_are_found() {
    // Each is found by less than one round of orders, as a rule.
    let is_found = |live: fn()| (0..10).any(|_| breaks(live));
    let missed: Vec<_> =
        faults().into_iter().filter(|(_, live)| !is_found(*live)).map(|(name, _)| name).collect();
    assert!(missed.is_empty(), "{missed:?}");
}
