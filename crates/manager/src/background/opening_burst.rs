//! Whether the engine is still opening tables. It opens them one after the other, and a plan for the first ones would be wrong for all.

use std::time::{Duration, Instant};

/// Opening is over after a pause of twice the last gap, within these bounds: a slow device opens tables slowly.
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(200);
/// A table that comes so soon after the one before shows that opening only seemed to be over. Longer gaps are those of compactions: their
/// tables need not wait for one another.
const GAP_MAX: Duration = Duration::from_millis(4);

/// Reads of units that a plan for all saves for each table, about.
const READS_SAVED: u64 = 2;

/// Tables that come one soon after the other, as those of a database that opens.
pub(super) struct OpeningBurst {
    last_generation: u32,
    last_came: Instant,
    pause: Duration,
    is_over: bool,
    /// The last table before this burst, and all wasted reads until it began.
    before: (u32, u64),
}

impl OpeningBurst {
    pub(super) fn new() -> Self {
        Self {
            last_generation: 0,
            last_came: Instant::now(),
            pause: PAUSE_MIN,
            is_over: true,
            before: (0, 0),
        }
    }

    /// Whether it is over: no more tables are expected, given the number of the last one and of all wasted reads.
    pub(super) fn is_over(&mut self, last_generation: u32, wasted_reads: u64) -> bool {
        let since = self.last_came.elapsed();
        if last_generation != self.last_generation {
            let continues = !self.is_over || since <= GAP_MAX && self.last_generation > 0;
            // The first table after a while says nothing about when the next comes.
            self.pause = if continues { (2 * since).clamp(self.pause, PAUSE_MAX) } else { PAUSE_MIN };
            if self.is_over {
                self.before = (self.last_generation, wasted_reads);
            }
            (self.last_generation, self.last_came) = (last_generation, Instant::now());
            self.is_over = false;
        } else if since >= self.pause {
            self.is_over = true;
        }
        let (tables, wasted) = (last_generation - self.before.0, wasted_reads - self.before.1);
        // Waiting saves reads of units for each table. Lookups that have begun already wasted as many: flushes bring tables without end.
        self.is_over || wasted >= u64::from(tables) * READS_SAVED
    }

    /// How long until it is over, if no more tables come.
    pub(super) fn left(&self) -> Duration {
        self.pause.saturating_sub(self.last_came.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_come_slowly_are_waited_for_longer() {
        let mut burst = OpeningBurst::new();
        let after = |burst: &mut OpeningBurst, time: Duration| burst.last_came -= time;
        assert!(burst.is_over(0, 0), "none ever came");
        assert!(!burst.is_over(1, 0));
        after(&mut burst, PAUSE_MIN);
        assert!(burst.is_over(1, 0));
        after(&mut burst, GAP_MAX);
        assert!(!burst.is_over(2, 0) && burst.pause == PAUSE_MIN, "a table after a while");
        after(&mut burst, 2 * PAUSE_MIN);
        assert!(!burst.is_over(3, 0) && burst.pause >= 4 * PAUSE_MIN);
        after(&mut burst, PAUSE_MAX);
        assert!(!burst.is_over(4, 0) && burst.pause == PAUSE_MAX, "never longer");
        after(&mut burst, PAUSE_MAX);
        assert!(burst.is_over(4, 0));
        assert!(!burst.is_over(5, 0) && burst.pause == PAUSE_MIN, "those are over");
    }

    #[test]
    fn a_table_that_comes_soon_after_all_shows_that_they_come_slowly() {
        let mut burst = OpeningBurst::new();
        assert!(!burst.is_over(1, 0));
        burst.last_came -= GAP_MAX / 2;
        assert!(burst.is_over(1, 0));
        assert!(!burst.is_over(2, 0) && burst.pause >= GAP_MAX);
    }

    #[test]
    fn they_are_over_once_waiting_wasted_more_reads_than_it_saves() {
        let mut burst = OpeningBurst::new();
        assert!(!burst.is_over(1, 100));
        assert!(!burst.is_over(10, 100 + 10 * READS_SAVED - 1));
        assert!(burst.is_over(10, 100 + 10 * READS_SAVED));
        assert!(!burst.is_over(11, 100 + 10 * READS_SAVED), "one more table, for which nothing was wasted");
        assert!(burst.is_over(11, 100 + 11 * READS_SAVED));
    }
}
