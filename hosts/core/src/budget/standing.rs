//! How the budget stands to the room in the caches that pay for it.
//!
//! A cache refuses an entry where the entry's shard is full. Only a try with nothing charged tells whether the charge is why. If it is not,
//! units stay: without them more would be read and refused.

use std::time::{Duration, Instant};

/// After room was taken away, this time passes before the budget takes more: memtables that were flushed fill again.
const RAISE_AFTER: Duration = Duration::from_secs(1);
const RAISE_EVERY: Duration = Duration::from_millis(250);
/// The part of what was asked for that the budget takes back at a time.
const RAISE_PART: usize = 8;
/// A refused entry makes the budget this many times smaller.
const YIELD_FACTOR: usize = 4;
/// A smaller budget yields as a whole.
const YIELD_MIN: usize = 64 << 10;
/// For this time nothing is charged after a cache refused an entry, unless the entry finds room then.
const UNCHARGED: Duration = Duration::from_millis(250);

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Standing {
    /// The budget is as large as the room.
    #[default]
    Following,
    /// Room was taken away. From then on the budget takes back what there is, piece by piece.
    Rising(Instant),
    /// A cache refused an entry: nothing is charged until then.
    Suspended(Instant),
    /// The entry found room while nothing was charged: the budget is to fall.
    Refused,
    /// It fell, and does not rise until then, not even if the program asks.
    Held(Instant),
}

/// How the budget stands, and by which permit it is charged, under one lock: a refusal ends what was charged by earlier ones, also what is
/// being charged meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Charging {
    pub(crate) standing: Standing,
    permit: u64,
}

impl Charging {
    /// To charge now; `None` while nothing may be charged.
    pub(crate) fn permit(&self) -> Option<u64> {
        self.standing.is_charged().then_some(self.permit)
    }

    /// Gives the permit before which nothing stays charged.
    pub(crate) fn withdraw(&mut self) -> u64 {
        self.permit += 1;
        self.permit
    }
}

impl Standing {
    /// A cache refused an entry, and the charge ends.
    pub(crate) fn suspend(&mut self) {
        *self = Self::Suspended(Instant::now() + UNCHARGED);
    }

    /// The entry found room then.
    pub(crate) fn refuse(&mut self) {
        if matches!(self, Self::Suspended(_)) {
            *self = Self::Refused;
        }
    }

    /// Another budget is asked for: it takes what there is.
    pub(crate) fn ask(&mut self) {
        if matches!(self, Self::Rising(_)) {
            *self = Self::Following;
        }
    }

    /// The caches granted less than the budget. That is asked for again as after a fall: which entries find room is chance.
    pub(crate) fn fall(&mut self, now: Instant) {
        if matches!(self, Self::Following | Self::Rising(_)) {
            *self = Self::Rising(now + RAISE_AFTER);
        }
    }

    fn is_charged(self) -> bool {
        !matches!(self, Self::Suspended(_) | Self::Refused)
    }

    /// What the budget may have of the `room`. `budget`: the one so far.
    pub(crate) fn limit(self, now: Instant, budget: usize, room: usize) -> usize {
        match self {
            Self::Refused if budget < YIELD_MIN => 0,
            Self::Refused => room.min(budget / YIELD_FACTOR),
            Self::Held(until) | Self::Suspended(until) if now < until => room.min(budget),
            _ => room,
        }
    }

    /// The budget to have now. `fits`: what is asked for, within the [limit](Self::limit).
    pub(crate) fn next(&mut self, now: Instant, budget: usize, fits: usize, asked: usize) -> usize {
        *self = match *self {
            Self::Refused => Self::Held(now + RAISE_AFTER),
            Self::Held(until) | Self::Suspended(until) if now >= until => Self::Rising(now),
            same => same,
        };
        if fits < budget {
            self.fall(now);
            return fits;
        }
        let Self::Rising(at) = *self else { return fits };
        if now < at {
            return budget;
        }
        let raised = fits.min(budget + asked.div_ceil(RAISE_PART));
        *self = if raised == fits { Self::Following } else { Self::Rising(now + RAISE_EVERY) };
        raised
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: usize = 8 << 20;

    /// The budget after a look at this room.
    fn look(standing: &mut Standing, now: Instant, budget: usize, room: usize) -> usize {
        let fits = standing.limit(now, budget, room).min(ASKED);
        standing.next(now, budget, fits, ASKED)
    }

    #[test]
    fn it_falls_at_once_and_rises_later_piece_by_piece() {
        let mut now = Instant::now();
        let mut standing = Standing::Following;
        assert_eq!(look(&mut standing, now, ASKED, ASKED / 4), ASKED / 4);
        assert_eq!(look(&mut standing, now, ASKED / 4, ASKED), ASKED / 4);
        let mut budgets = vec![ASKED / 4];
        while standing != Standing::Following {
            now += RAISE_AFTER;
            let budget = look(&mut standing, now, *budgets.last().unwrap(), ASKED * 2);
            budgets.push(budget);
        }
        assert_eq!(budgets, [2, 3, 4, 5, 6, 7, 8].map(|eighths| ASKED / 8 * eighths));
        assert_eq!(look(&mut standing, now, ASKED / 2, ASKED), ASKED);
    }

    #[test]
    fn an_entry_that_found_room_without_the_charge_lowers_the_budget_for_a_while() {
        let now = Instant::now();
        let mut standing = Standing::Following;
        standing.refuse();
        assert_eq!(standing, Standing::Following, "nothing was given up");
        standing.suspend();
        assert!(!standing.is_charged());
        assert_eq!(look(&mut standing, now, ASKED, ASKED), ASKED, "units stay");
        standing.refuse();
        assert!(!standing.is_charged());
        assert_eq!(look(&mut standing, now, ASKED, ASKED), ASKED / 4);
        standing.ask();
        assert_eq!(look(&mut standing, now, ASKED / 4, ASKED), ASKED / 4, "it is held");
        assert!(standing.is_charged());
        let later = now + RAISE_AFTER * 2;
        assert_eq!(look(&mut standing, later, ASKED / 4, ASKED), ASKED / 8 * 3);
        standing.ask();
        assert_eq!(look(&mut standing, later, ASKED / 8 * 3, ASKED), ASKED);
    }

    #[test]
    fn a_cache_that_refuses_for_another_reason_is_charged_again() {
        let mut standing = Standing::Following;
        standing.suspend();
        let later = Instant::now() + UNCHARGED * 2;
        assert_eq!(look(&mut standing, later, ASKED, ASKED), ASKED);
        assert!(standing.is_charged());
    }
}
