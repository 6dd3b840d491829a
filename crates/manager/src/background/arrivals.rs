//! Whether the engine is still opening tables. It opens them one after the other, and a plan for the first ones would be wrong for all.

use std::time::{Duration, Instant};

/// Opening is over after a pause of twice the last gap, within these bounds: a slow device opens tables slowly. Short at first, because
/// lookups may have begun.
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(200);
/// A table that comes so soon after the one before shows that opening only seemed to be over. Longer gaps are those of compactions: their
/// tables need not wait for one another.
const GAP_MAX: Duration = Duration::from_millis(4);

/// When the last tables came.
pub(super) struct Arrivals {
    last_generation: u32,
    last_came: Instant,
    /// When this burst of openings began.
    began: Instant,
    pause: Duration,
    are_over: bool,
}

impl Arrivals {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self { last_generation: 0, last_came: now, began: now, pause: PAUSE_MIN, are_over: true }
    }

    /// Whether no more tables are expected, given the number of the last one.
    pub(super) fn are_over(&mut self, last_generation: u32) -> bool {
        let since = self.last_came.elapsed();
        if last_generation != self.last_generation {
            let continues = !self.are_over || since <= GAP_MAX && self.last_generation > 0;
            // The first table after a while says nothing about when the next comes.
            self.pause = if continues { (2 * since).clamp(self.pause, PAUSE_MAX) } else { PAUSE_MIN };
            (self.last_generation, self.last_came) = (last_generation, Instant::now());
            if self.are_over {
                self.began = self.last_came;
            }
            self.are_over = false;
        } else if since >= self.pause {
            self.are_over = true;
        }
        // Tables that come for long are those of flushes: lookups must not go without filters until that ends.
        self.are_over |= self.began.elapsed() >= PAUSE_MAX;
        self.are_over
    }

    /// How long until they are over, if no more tables come.
    pub(super) fn left(&self) -> Duration {
        self.pause.saturating_sub(self.last_came.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_come_slowly_are_waited_for_longer() {
        let mut arrivals = Arrivals::new();
        let after = |arrivals: &mut Arrivals, time: Duration| arrivals.last_came -= time;
        assert!(arrivals.are_over(0), "none ever came");
        assert!(!arrivals.are_over(1));
        after(&mut arrivals, PAUSE_MIN);
        assert!(arrivals.are_over(1));
        after(&mut arrivals, GAP_MAX);
        assert!(!arrivals.are_over(2) && arrivals.pause == PAUSE_MIN, "a table after a while");
        after(&mut arrivals, 2 * PAUSE_MIN);
        assert!(!arrivals.are_over(3) && arrivals.pause >= 4 * PAUSE_MIN);
        after(&mut arrivals, PAUSE_MAX);
        assert!(!arrivals.are_over(4) && arrivals.pause == PAUSE_MAX, "never longer");
        after(&mut arrivals, PAUSE_MAX);
        assert!(arrivals.are_over(4));
        assert!(!arrivals.are_over(5) && arrivals.pause == PAUSE_MIN, "those are over");
    }

    #[test]
    fn a_table_that_comes_soon_after_all_shows_that_they_come_slowly() {
        let mut arrivals = Arrivals::new();
        assert!(!arrivals.are_over(1));
        arrivals.last_came -= GAP_MAX / 2;
        assert!(arrivals.are_over(1));
        assert!(!arrivals.are_over(2) && arrivals.pause >= GAP_MAX);
    }

    #[test]
    fn they_are_over_after_long_where_tables_come_without_end() {
        let mut arrivals = Arrivals::new();
        assert!(!arrivals.are_over(1));
        arrivals.began -= PAUSE_MAX;
        assert!(arrivals.are_over(2));
    }
}
