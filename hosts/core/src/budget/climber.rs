//! Climbs to the budget with which lookups read the fewest blocks, by trying others.
//!
//! A *trial* compares two budgets in turns, here, there, here: what changes steadily meanwhile, as in a cache that fills, falls on both.
//! Reads are counted until the difference exceeds their noise or is too small to matter; at a tie it stays. Where no step pays it rests,
//! for longer each time, until the reads per visit change.

use std::ops::RangeInclusive;

/// A window ends after this many reads, whose number has a noise of .8%.
const WINDOW_READS: u64 = 16 << 10;
/// Or after this many visits, of which few read.
const WINDOW_VISITS: u64 = 4 << 20;
/// After a move, at least this many reads are left out.
const SETTLE_READS: u64 = WINDOW_READS / 4;
/// Steps, as natural logarithms. The smallest is about an eighth.
const STEP_MIN: f64 = 0.125;
const STEP_FIRST: f64 = 0.25;
const STEP_MAX: f64 = 0.5;
/// Limits that leave less of a step make it not worth a trial.
const STEP_CUT: f64 = 0.03;
/// Times that a trial asks the other budget.
const ROUNDS: u32 = 3;
/// Windows after which it no longer waits for two alike.
const UNSTEADY_WINDOWS: u32 = 8;
/// Windows of the first and the longest rest.
const REST: RangeInclusive<u32> = 2..=64;
/// What wakes it from a rest: reads per visit that are as much more or less.
const CHANGE: f64 = 0.1;

/// What lookups did: visits to tables, and blocks that they read because the cache lacked them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) visits: u64,
    pub(crate) block_reads: u64,
}

impl Counts {
    fn since(self, before: Self) -> Self {
        let Self { visits, block_reads } = self;
        Self {
            visits: visits.saturating_sub(before.visits),
            block_reads: block_reads.saturating_sub(before.block_reads),
        }
    }

    fn add(&mut self, more: Self) {
        self.visits += more.visits;
        self.block_reads += more.block_reads;
    }

    fn is_window(self) -> bool {
        self.block_reads >= WINDOW_READS || self.visits >= WINDOW_VISITS
    }

    fn rate(self) -> f64 {
        self.block_reads as f64 / self.visits.max(1) as f64
    }

    /// Of the rate, if reads come independently.
    fn variance(self) -> f64 {
        self.block_reads.max(1) as f64 / (self.visits.max(1) as f64).powi(2)
    }

    /// Whether `window` reads so much more or less that another budget may be better.
    fn has_changed(self, window: Self) -> bool {
        let change = (window.rate() / self.rate() - 1.0).abs();
        self.visits > 0 && change > CHANGE && self.gain_of(window).abs() > 4.0
    }

    /// By how many standard deviations `other` reads less.
    fn gain_of(self, other: Self) -> f64 {
        (self.rate() - other.rate()) / (self.variance() + other.variance()).sqrt()
    }
}

#[derive(Debug)]
enum Phase {
    /// Waits until two windows in a row are alike.
    Steadying { last: Option<Counts>, windows: u32 },
    /// Compares the budget with another one.
    Trying { other: f64, is_there: bool, here: Counts, there: Counts, rounds: u32 },
    /// Until this many windows have passed, or something changed.
    Resting { windows: u32, so_far: Counts },
}

/// Where the climb is. Budgets are factors of one that the caller knows, which may move with the data and the cache.
#[derive(Debug)]
pub(crate) struct Climber {
    factor: f64,
    /// What it said when it moved last.
    given: f64,
    step: f64,
    /// 1: up, -1: down.
    direction: f64,
    /// Whether a step the other way is known not to pay.
    is_back_closed: bool,
    wins: u32,
    rest_windows: u32,
    phase: Phase,
    /// Counts when the window began, or the move that must settle first; `None`: at the next look.
    begun: Option<Counts>,
    is_settling: bool,
}

impl Default for Climber {
    fn default() -> Self {
        Self {
            factor: 1.0,
            given: 1.0,
            step: STEP_FIRST,
            // Too large a budget costs data that is hot.
            direction: -1.0,
            is_back_closed: false,
            wins: 0,
            rest_windows: *REST.start(),
            phase: Phase::Steadying { last: None, windows: 0 },
            begun: None,
            is_settling: true,
        }
    }
}

impl Climber {
    /// The factor to have now. `counts`: of all lookups so far; `settle_reads`: after which a move has settled; `limits`: of the factor.
    pub(crate) fn look(&mut self, counts: Counts, settle_reads: u64, limits: RangeInclusive<f64>) -> f64 {
        let seen = counts.since(*self.begun.get_or_insert(counts));
        if self.is_settling {
            if seen.block_reads >= settle_reads.max(SETTLE_READS) || seen.visits >= WINDOW_VISITS {
                self.is_settling = false;
                self.begun = Some(counts);
            }
        } else if seen.is_window() || self.is_lost(seen) {
            self.begun = Some(counts);
            self.end_window(seen, &limits);
        }
        // Limits bound what is asked for and not where it stands: what others take from the cache for a while changes nothing.
        let wanted = within(self.wanted(), &limits);
        if !is_near(wanted, self.given) {
            self.given = wanted;
            self.is_settling = true;
            self.begun = Some(counts);
        }
        wanted
    }

    /// Something else moved the budget: what was measured in the meantime says nothing.
    pub(crate) fn disturb(&mut self) {
        if let Phase::Trying { .. } = self.phase {
            self.phase = Phase::Steadying { last: None, windows: 0 };
        }
        self.is_settling = true;
        self.begun = None;
    }

    /// Whether it has found no step that pays, and waits.
    pub(crate) fn is_resting(&self) -> bool {
        matches!(self.phase, Phase::Resting { .. })
    }

    fn wanted(&self) -> f64 {
        match self.phase {
            Phase::Trying { other, is_there: true, .. } => other,
            _ => self.factor,
        }
    }

    /// Whether the other budget reads so much more that a part of a window tells.
    fn is_lost(&self, seen: Counts) -> bool {
        let Phase::Trying { is_there: true, here, mut there, .. } = self.phase else { return false };
        there.add(seen);
        seen.block_reads >= WINDOW_READS / 8 && here.gain_of(there) <= -4.0
    }

    fn end_window(&mut self, window: Counts, limits: &RangeInclusive<f64>) {
        match &mut self.phase {
            Phase::Steadying { last, windows } => {
                *windows += 1;
                let is_steady = last.is_some_and(|last| last.gain_of(window).abs() < 3.0);
                *last = Some(window);
                if is_steady || *windows >= UNSTEADY_WINDOWS {
                    self.try_next(limits);
                }
            }
            Phase::Resting { windows, so_far } => {
                if so_far.has_changed(window) {
                    (self.step, self.rest_windows) = (STEP_FIRST, *REST.start());
                    self.phase = Phase::Steadying { last: Some(window), windows: 0 };
                    return;
                }
                so_far.add(window);
                *windows -= 1;
                if *windows == 0 {
                    self.try_next(limits);
                }
            }
            Phase::Trying { other, is_there, here, there, rounds } => {
                if *is_there {
                    there.add(window);
                    *rounds += 1;
                    // A loss is no effect of a cache that fills, in which the later window reads less.
                    if here.gain_of(*there) <= -3.0 {
                        self.reject(limits);
                    } else {
                        *is_there = false;
                    }
                    return;
                }
                if here.has_changed(window) {
                    // The lookups changed: the windows tell nothing about the budgets.
                    self.phase = Phase::Steadying { last: Some(window), windows: 0 };
                    return;
                }
                here.add(window);
                if *rounds == 0 {
                    *is_there = true;
                    return;
                }
                let gain = here.gain_of(*there);
                let is_last = *rounds == ROUNDS;
                if gain >= if is_last { 2.0 } else { 2.5 } {
                    self.factor = *other;
                    self.accept(limits);
                } else if gain <= 0.0 || is_last {
                    self.reject(limits);
                } else {
                    *is_there = true;
                }
            }
        }
    }

    fn accept(&mut self, limits: &RangeInclusive<f64>) {
        self.is_back_closed = true;
        self.rest_windows = *REST.start();
        self.wins += 1;
        if self.wins >= 2 {
            self.step = (self.step * 2.0).min(STEP_MAX);
        }
        self.try_next(limits);
    }

    fn reject(&mut self, limits: &RangeInclusive<f64>) {
        self.wins = 0;
        self.direction = -self.direction;
        self.is_back_closed = !self.is_back_closed;
        if !self.is_back_closed {
            if self.step <= STEP_MIN {
                self.rest();
                return;
            }
            self.step = (self.step / 2.0).max(STEP_MIN);
        }
        self.try_next(limits);
    }

    fn rest(&mut self) {
        self.phase = Phase::Resting { windows: self.rest_windows, so_far: Counts::default() };
        self.rest_windows = (self.rest_windows * 2).min(*REST.end());
    }

    /// Begins a trial of the next step, or rests where the limits leave none.
    fn try_next(&mut self, limits: &RangeInclusive<f64>) {
        let here = within(self.factor, limits);
        let other = within(here * (self.direction * self.step).exp(), limits);
        if is_near(other, here) {
            self.phase = Phase::Steadying { last: None, windows: 0 };
            self.reject(limits);
            return;
        }
        let none = Counts::default();
        self.phase = Phase::Trying { other, is_there: false, here: none, there: none, rounds: 0 };
    }
}

/// Whether they are too much alike for a trial.
fn is_near(a: f64, b: f64) -> bool {
    a == b || (a / b).ln().abs() < STEP_CUT
}

fn within(factor: f64, limits: &RangeInclusive<f64>) -> f64 {
    factor.min(*limits.end()).max(*limits.start())
}

#[cfg(test)]
mod tests {
    use rand::{Rng, RngExt};
    use springbloom_testkit::seed::rng;

    use super::*;

    /// Lookups between two looks.
    const TICK_VISITS: u64 = 5_000;
    const BLOCK_BYTES: f64 = 4096.0;

    /// A store: what a visit reads on average where filters have this many bits of the memory, and the rest is a cache of blocks.
    #[derive(Clone, Copy, Debug)]
    struct Store {
        keys: f64,
        record_bytes: f64,
        memory_per_key: f64,
        is_uniform: bool,
        /// Visits that do not find the key.
        absent: f64,
    }

    impl Store {
        fn miss(&self, cached: f64) -> f64 {
            const SKEW: f64 = 1e4;
            let cached = cached.clamp(0.0, 1.0);
            if self.is_uniform { 1.0 - cached } else { 1.0 - (1.0 + SKEW * cached).ln() / (1.0 + SKEW).ln() }
        }

        fn reads(&self, bits: f64) -> f64 {
            let cached = (self.memory_per_key - bits / 8.0).max(0.0) / self.record_bytes;
            // A wasted read is of a cold block more often.
            let wasted = self.absent * 0.6185f64.powf(bits) * self.miss(cached).sqrt();
            wasted + (1.0 - self.absent) * self.miss(cached)
        }

        fn bits_max(&self) -> f64 {
            (self.memory_per_key * 7.0).min(16.0)
        }

        fn prior(&self) -> f64 {
            (3.0 * self.memory_per_key).min(8.0)
        }

        /// With the best number of bits.
        fn fewest_reads(&self) -> f64 {
            let all = (2..=320).map(|part| self.bits_max() * f64::from(part) / 320.0);
            all.map(|bits| self.reads(bits)).fold(f64::INFINITY, f64::min)
        }
    }

    /// A store that is climbed on. Its cache and filters follow a move slowly.
    struct Climb<R> {
        climber: Climber,
        random: R,
        counts: Counts,
        /// The bits that reads are as of; behind those wanted.
        bits: f64,
        /// How much more is read than in the long run: a cache that fills.
        cold: f64,
        moves: u32,
        last: f64,
        settle_reads: u64,
    }

    impl<R: Rng> Climb<R> {
        fn new(random: R, store: &Store, cold: f64) -> Self {
            let bits = store.prior();
            Self {
                climber: Climber::default(),
                random,
                counts: Counts::default(),
                bits,
                cold,
                moves: 0,
                last: bits,
                settle_reads: 0,
            }
        }

        /// Gives the mean of what is read relative to the fewest reads.
        fn run(&mut self, store: &Store, visits: u64) -> f64 {
            let (ticks, fewest) = (visits / TICK_VISITS, store.fewest_reads());
            let mut losses = 0.0;
            for _ in 0..ticks {
                let limits = 0.2 / store.prior()..=store.bits_max() / store.prior();
                let wanted = store.prior() * self.climber.look(self.counts, self.settle_reads, limits);
                if (wanted / self.last).ln().abs() > 0.02 {
                    self.moves += 1;
                    let moved_blocks = (wanted - self.last).abs() / 8.0 * store.keys / BLOCK_BYTES;
                    self.settle_reads = 2 * moved_blocks as u64;
                    self.last = wanted;
                }
                let mean = TICK_VISITS as f64 * store.reads(self.bits) * (1.0 + self.cold);
                // Nearly Poisson.
                let normal = (0..12).map(|_| self.random.random::<f64>()).sum::<f64>() - 6.0;
                let reads = (mean + mean.sqrt() * normal).max(0.0);
                self.counts.add(Counts { visits: TICK_VISITS, block_reads: reads.round() as u64 });
                let blocks = ((wanted - self.bits).abs() / 8.0 * store.keys / BLOCK_BYTES).max(1.0);
                self.bits += (wanted - self.bits) * (1.0 - (-reads / blocks).exp());
                self.cold *= (-reads / (store.keys * store.memory_per_key / BLOCK_BYTES).max(1.0)).exp();
                losses += store.reads(self.bits) / fewest - 1.0;
            }
            losses / ticks as f64
        }
    }

    fn stores() -> Vec<Store> {
        let mut stores = Vec::new();
        for memory_per_key in [0.5, 1.0, 2.1, 4.2, 8.4, 34.0] {
            for record_bytes in [100.0, 1000.0] {
                for is_uniform in [false, true] {
                    for absent in [0.5, 0.9] {
                        stores.push(Store { keys: 3e6, record_bytes, memory_per_key, is_uniform, absent });
                    }
                }
            }
        }
        stores
    }

    /// Visits in which it gets to the best budget from anywhere.
    const LONG: u64 = 20_000_000;
    /// What it may read relative to the fewest reads, on average, its trials included.
    const LOSS_MAX: f64 = 0.03;
    /// The same after a change, when it may still be on its way: of 7,440 changes one in a hundred lost .01, and the worst .054.
    const LOSS_AFTER_CHANGE_MAX: f64 = 0.1;

    #[test]
    fn it_gets_to_the_best_budget_and_rests_there() {
        let mut random = rng("it_gets_to_the_best_budget_and_rests_there");
        for store in stores() {
            // At first the cache is cold.
            let mut climb = Climb::new(&mut random, &store, 3.0);
            climb.run(&store, LONG);
            let loss = climb.run(&store, LONG);
            println!("{store:?}: {:.1} bits, {loss:.4} more than the best", climb.last);
            assert!(loss < LOSS_MAX, "{store:?}: {loss}");
        }
    }

    #[test]
    fn it_follows_lookups_and_caches_that_change() {
        let mut random = rng("it_follows_lookups_and_caches_that_change");
        for before in stores().into_iter().filter(|store| store.memory_per_key > 1.0) {
            let changed = [
                Store { is_uniform: !before.is_uniform, ..before },
                Store { absent: 1.4 - before.absent, ..before },
                Store { memory_per_key: before.memory_per_key / 4.0, ..before },
                Store { memory_per_key: before.memory_per_key * 4.0, ..before },
            ];
            // Where all is cached nothing is read.
            for after in changed.into_iter().filter(|store| store.memory_per_key < store.record_bytes) {
                let mut climb = Climb::new(&mut random, &before, 0.0);
                climb.run(&before, LONG);
                climb.run(&after, LONG);
                let loss = climb.run(&after, LONG);
                assert!(loss < LOSS_AFTER_CHANGE_MAX, "{before:?}, then {after:?}: {loss}");
            }
        }
    }

    #[test]
    fn where_no_budget_is_better_it_moves_ever_less() {
        let mut random = rng("where_no_budget_is_better_it_moves_ever_less");
        // Filters reject nothing, and the cache holds nothing.
        let store =
            Store { keys: 3e6, record_bytes: 1e9, memory_per_key: 8.0, is_uniform: true, absent: 0.0 };
        let mut climb = Climb::new(&mut random, &store, 0.0);
        (0..3).for_each(|_| _ = climb.run(&store, LONG));
        let before = climb.moves;
        climb.run(&store, LONG);
        let moves = u64::from(climb.moves - before);
        // Every visit reads. A rest takes 64 windows, a trial in each direction six moves at most.
        let windows = LONG / WINDOW_READS;
        println!("{moves} moves in {windows} windows");
        assert!(moves <= 12 * (windows / 64 + 1), "{moves} moves in {windows} windows");
    }

    fn look(climber: &mut Climber, counts: &mut Counts, block_reads: u64) {
        counts.add(Counts { visits: 100_000, block_reads });
        climber.look(*counts, 0, 0.1..=10.0);
    }

    /// One that has just moved to the other budget of a trial.
    fn at_the_other_budget() -> (Climber, Counts) {
        let (mut climber, mut counts) = (Climber::default(), Counts::default());
        while climber.wanted() == climber.factor {
            look(&mut climber, &mut counts, WINDOW_READS);
        }
        (climber, counts)
    }

    #[test]
    fn what_was_disturbed_is_not_compared() {
        let (mut climber, mut counts) = at_the_other_budget();
        let before = climber.factor;
        // There it would read far less, if nothing had come between.
        climber.disturb();
        (0..3).for_each(|_| look(&mut climber, &mut counts, WINDOW_READS / 4));
        assert_eq!(climber.factor, before);
    }

    #[test]
    fn a_trial_in_which_lookups_change_says_nothing() {
        let (mut climber, mut counts) = at_the_other_budget();
        let before = climber.factor;
        // The other budget reads as much, and then either reads a quarter more.
        while climber.wanted() != before {
            look(&mut climber, &mut counts, WINDOW_READS);
        }
        (0..3).for_each(|_| look(&mut climber, &mut counts, WINDOW_READS + WINDOW_READS / 4));
        assert_eq!(climber.factor, before);
    }

    #[test]
    fn limits_hold_at_once() {
        let mut climber = Climber::default();
        assert_eq!(climber.look(Counts::default(), 0, 0.1..=0.5), 0.5);
        assert_eq!(climber.look(Counts::default(), 0, 2.0..=3.0), 2.0);
        assert_eq!(climber.look(Counts::default(), 0, 0.0..=0.0), 0.0);
        assert_eq!(climber.look(Counts::default(), 0, 0.1..=10.0), 1.0, "what it stood at comes back");
        // No room for a step: it rests there.
        let mut counts = Counts::default();
        for _ in 0..100 {
            counts.add(Counts { visits: 100_000, block_reads: WINDOW_READS });
            assert_eq!(climber.look(counts, 0, 2.0..=2.0), 2.0);
        }
        assert!(climber.is_resting());
    }
}
