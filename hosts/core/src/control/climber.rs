//! Climbs to the budget with which lookups read the fewest blocks, by trying others.
//!
//! A *trial* compares two budgets in turns, here, there, here: what changes steadily meanwhile, as in a cache that fills, falls on both.
//! Reads are counted until the difference exceeds their noise or is too small to matter; at a tie it stays. Where no step pays it rests,
//! for longer each time, until the reads per visit change.

use std::ops::RangeInclusive;

/// A window ends after so many reads, whose number has a noise of .8%.
const WINDOW_READS: u64 = 16 << 10;
/// Or after so many visits, of which few read.
const WINDOW_VISITS: u64 = 4 << 20;
/// After a move, at least so many reads are left out.
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
    /// Until so many windows have passed, or something changed.
    Resting { windows: u32, so_far: Counts },
}

/// Where the climb is. Budgets are factors of one that the caller knows, which may move with the data and the cache.
#[derive(Debug)]
pub(crate) struct Climber {
    factor: f64,
    step: f64,
    /// 1: up, -1: down.
    direction: f64,
    /// Whether a step the other way is known not to pay.
    is_back_closed: bool,
    wins: u32,
    rest_windows: u32,
    phase: Phase,
    /// Counts when the window began, or the move that must settle first.
    begun: Counts,
    is_settling: bool,
}

impl Default for Climber {
    fn default() -> Self {
        Self {
            factor: 1.0,
            step: STEP_FIRST,
            direction: 1.0,
            is_back_closed: false,
            wins: 0,
            rest_windows: *REST.start(),
            phase: Phase::Steadying { last: None, windows: 0 },
            begun: Counts::default(),
            is_settling: true,
        }
    }
}

impl Climber {
    /// The factor to have now. `counts`: of all lookups so far; `settle_reads`: after which a move has settled; `limits`: of the factor.
    pub(crate) fn look(&mut self, counts: Counts, settle_reads: u64, limits: RangeInclusive<f64>) -> f64 {
        let before = self.wanted();
        self.factor = within(self.factor, &limits);
        if let Phase::Trying { other, .. } = &mut self.phase {
            *other = within(*other, &limits);
        }
        let seen = counts.since(self.begun);
        if self.is_settling {
            if seen.block_reads >= settle_reads.max(SETTLE_READS) || seen.visits >= WINDOW_VISITS {
                self.is_settling = false;
                self.begun = counts;
            }
        } else if seen.is_window() {
            self.begun = counts;
            self.end_window(seen, &limits);
        }
        if self.wanted() != before {
            self.is_settling = true;
            self.begun = counts;
        }
        self.wanted()
    }

    /// Something else moved the budget: what was measured in the meantime says nothing.
    pub(crate) fn disturb(&mut self) {
        if let Phase::Trying { .. } = self.phase {
            self.phase = Phase::Steadying { last: None, windows: 0 };
        }
        self.is_settling = true;
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
                let change = (window.rate() / so_far.rate() - 1.0).abs();
                if so_far.visits > 0 && change > CHANGE && so_far.gain_of(window).abs() > 4.0 {
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
            Phase::Trying { is_there, here, there, rounds, .. } => {
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
                here.add(window);
                if *rounds == 0 {
                    *is_there = true;
                    return;
                }
                let gain = here.gain_of(*there);
                let is_last = *rounds == ROUNDS;
                if gain >= if is_last { 2.0 } else { 2.5 } {
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
        self.factor = match self.phase {
            Phase::Trying { other, .. } => other,
            _ => self.factor,
        };
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
        if !self.is_back_closed {
            self.is_back_closed = true;
        } else {
            self.is_back_closed = false;
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
        let other = within(self.factor * (self.direction * self.step).exp(), limits);
        if (other / self.factor).ln().abs() < STEP_CUT {
            self.phase = Phase::Steadying { last: None, windows: 0 };
            self.reject(limits);
            return;
        }
        self.phase = Phase::Trying {
            other,
            is_there: false,
            here: Counts::default(),
            there: Counts::default(),
            rounds: 0,
        };
    }
}

fn within(factor: f64, limits: &RangeInclusive<f64>) -> f64 {
    factor.min(*limits.end()).max(*limits.start())
}
