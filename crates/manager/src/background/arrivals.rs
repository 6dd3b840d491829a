//! Whether the engine is still opening tables. It opens them one after the other, and a plan for the first ones would be wrong for all.

use std::time::{Duration, Instant};

/// Opening is over when no table came for twice the time between the last two: a slow device opens tables slowly. At least and at most so
/// long.
const PAUSE_MIN: Duration = Duration::from_millis(4);
const PAUSE_MAX: Duration = Duration::from_millis(200);

/// When the last tables came.
pub(super) struct Arrivals {
    last_generation: u32,
    last_came: Instant,
    pause: Duration,
    are_over: bool,
}

impl Arrivals {
    pub(super) fn new() -> Self {
        Self { last_generation: 0, last_came: Instant::now(), pause: PAUSE_MIN, are_over: true }
    }

    /// Whether no more tables are expected, given the number of the last one.
    pub(super) fn are_over(&mut self, last_generation: u32) -> bool {
        let since = self.last_came.elapsed();
        if last_generation != self.last_generation {
            // The first table after a while says nothing about when the next comes.
            self.pause = if self.are_over { PAUSE_MIN } else { (2 * since).clamp(self.pause, PAUSE_MAX) };
            (self.last_generation, self.last_came) = (last_generation, Instant::now());
            self.are_over = false;
        } else if since >= self.pause {
            self.are_over = true;
        }
        self.are_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_come_slowly_are_waited_for_longer() {
        let mut arrivals = Arrivals::new();
        assert!(arrivals.are_over(0), "none ever came");
        assert!(!arrivals.are_over(1));
        std::thread::sleep(PAUSE_MIN);
        assert!(arrivals.are_over(1));
        assert!(!arrivals.are_over(2) && arrivals.pause == PAUSE_MIN);
        std::thread::sleep(2 * PAUSE_MIN);
        assert!(!arrivals.are_over(3) && arrivals.pause >= 4 * PAUSE_MIN);
        arrivals.last_came -= PAUSE_MAX;
        assert!(!arrivals.are_over(4) && arrivals.pause == PAUSE_MAX, "never longer");
        arrivals.last_came -= PAUSE_MAX;
        assert!(arrivals.are_over(4));
        assert!(!arrivals.are_over(5) && arrivals.pause == PAUSE_MIN, "those are over");
    }
}
