//! Outages, resizes of a strict cache that also holds memtables, budgets, stores that come and go, and a secondary, all at once: what
//! elastic filters do, compared with stock filters that do the same. An operation fails during a fault only, and no answer is wrong.
//!
//! `SPRINGBLOOM_CHAOS_SECONDS` sets the time (default 20), `SPRINGBLOOM_SEED` the seed. `make chaos` runs it for half an hour.

mod operation;
mod outage;
mod recovery;
mod script;
mod secondary;
mod side;
mod store;
mod tally;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use rand::RngExt;
use rocksdb::Options;
use springbloom_rocksdb::ElasticFilters;
use springbloom_testkit::seed::{TestRng, rng};

use self::{
    operation::Operation,
    outage::Outages,
    script::Script,
    side::{AMPLE_BYTES, STORES, Side},
    store::Done,
    tally::Tally,
};
use crate::common::{
    ONE_AT_A_TIME,
    budget_watch::BudgetWatch,
    faults::{Fault, with_simulated_files},
    folder, merge_by_append, number, small_segments, small_tree,
};

const SECONDS: u64 = 20;
/// After each of them all must be as without faults.
const ROUND: Duration = Duration::from_secs(10);

struct Chaos {
    script: Script,
    /// Before the sides, which close without a fault.
    outages: Outages,
    /// With stock filters, and with elastic ones.
    sides: [Side; 2],
    /// They take turns, because the second one waits for background threads that the first one keeps.
    is_stock_first: bool,
    tally: Tally,
}

impl Chaos {
    fn new(mut random: TestRng, folder: &Path) -> Self {
        let shard_bits = random.random_range(0..2);
        let options = options(&mut random);
        let elastic = elastic(&mut random);
        let side = |name, elastic| Side::new(name, options.clone(), shard_bits, elastic, folder);
        Self {
            sides: [side("stock", None), side("elastic", Some(elastic))],
            outages: Outages::default(),
            is_stock_first: false,
            tally: Tally::default(),
            script: Script::new(random),
        }
    }

    fn elastic(&self) -> &Side {
        &self.sides[1]
    }

    fn round(&mut self, length: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < length {
            self.step();
        }
        self.end_outage();
        self.sides.iter().for_each(Side::make_room);
        self.tally.recovered(recovery::wait(self.elastic()));
        let secondaries = self.sides.each_mut().map(Side::verify);
        self.tally.secondaries(secondaries);
    }

    fn step(&mut self) {
        if self.outages.is_due() {
            self.end_outage();
        }
        if let Some(fault) = self.outages.draw(self.script.random()) {
            self.tally.fault(fault);
        }
        let operation = self.script.operation();
        let fault = self.outages.fault();
        let may_fail = !matches!(fault, Fault::None | Fault::Slow | Fault::WrongBytes);
        let done = self.apply(&operation, may_fail);
        for (side, (done, _)) in self.sides.iter().zip(&done) {
            assert!(
                may_fail || done.is_ok(),
                "{}: {done:?} without a fault: {}",
                side.name,
                operation.name()
            );
        }
        self.tally.operation(operation.name(), &done, fault);
    }

    /// What it came to on either side, and how long it took.
    fn apply(&mut self, operation: &Operation, may_fail: bool) -> [(Done, Duration); 2] {
        self.is_stock_first = !self.is_stock_first;
        let mut sides = self.sides.each_mut();
        let mut turn = |index: usize| {
            let begun = Instant::now();
            (sides[index].apply(operation, may_fail), begun.elapsed())
        };
        if self.is_stock_first {
            [turn(0), turn(1)]
        } else {
            let elastic = turn(1);
            [turn(0), elastic]
        }
    }

    /// A background error lasts until the store is opened again: both sides open those in which one has any.
    fn end_outage(&mut self) {
        if !self.outages.end() {
            return;
        }
        for store in (0..STORES).filter(|&store| self.script.is_open(store)) {
            let broken = self.sides.each_ref().map(|side| side.is_broken(store));
            if broken.contains(&true) {
                self.tally.broken(broken);
                self.sides
                    .iter_mut()
                    .for_each(|side| side.reopen(store).expect("a store opens after a fault"));
            }
        }
        for side in &mut self.sides {
            side.follow_anew().expect("a secondary opens after a fault");
        }
    }
}

/// Without a cache. `tests/common` has it small, so that much happens in a short time.
fn options(random: &mut TestRng) -> Options {
    let mut options = small_tree();
    options.create_if_missing(false); // or a fault that hides `CURRENT` would make an empty store of it
    options.set_max_open_files(if random.random_bool(0.5) { -1 } else { 40 });
    merge_by_append(&mut options);
    with_simulated_files(&mut options);
    options
}

fn elastic(random: &mut TestRng) -> ElasticFilters {
    let builder = small_segments(AMPLE_BYTES);
    let warm_start = random.random_bool(0.5).then_some(Duration::from_secs(1));
    builder.charge_to_block_cache(true).warm_start_every(warm_start).build().expect("the settings are sound")
}

#[test]
fn nothing_fails_that_does_not_fail_with_stock_filters() {
    let _one = ONE_AT_A_TIME.lock();
    let seconds = number("SPRINGBLOOM_CHAOS_SECONDS", SECONDS);
    let (begun, length) = (Instant::now(), Duration::from_secs(seconds));
    let folder = folder();
    let mut chaos = Chaos::new(rng("chaos"), folder.path());
    let filters = chaos.elastic().elastic.clone().expect("filters");
    let watch = BudgetWatch::begin(filters.clone());
    chaos.sides.iter_mut().for_each(Side::fill);
    while begun.elapsed() < length {
        chaos.round(ROUND.min(length.saturating_sub(begun.elapsed())));
        watch.check();
        chaos.tally.print_progress(begun.elapsed());
    }
    println!("{}{} times looked at the budget", chaos.tally, watch.end());
    let stats = filters.stats();
    assert_eq!(stats.thread_panics, 0, "{stats:?}");
    assert!(stats.corrupt_units == 0 || chaos.tally.has_had(Fault::WrongBytes), "{stats:?}");
    assert!(
        stats.outcomes.rejected > 0 && stats.evictions > 0 && stats.loads > 0,
        "nothing happened: {stats:?}"
    );
}
