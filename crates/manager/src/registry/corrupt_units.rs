//! When units that were found corrupt are read again: a cable, a controller or a network folder may bring wrong bytes of a sound file, for
//! a while.

use std::time::{Duration, Instant};

const PAUSE_MIN: Duration = Duration::from_secs(1);
/// A fault that passes leaves no trace a minute later.
const PAUSE_MAX: Duration = Duration::from_secs(32);

/// The time of the next try. It is for all corrupt units, so nothing is kept of each.
#[derive(Default)]
pub(crate) struct CorruptUnits {
    pause: Duration,
    due: Option<Instant>,
    last_try: Option<Instant>,
}

impl CorruptUnits {
    /// A unit was found corrupt. `true` if that is new, and not what the last try found again.
    pub(crate) fn note(&mut self, now: Instant) -> bool {
        if self.due.is_some() {
            return false;
        }
        let is_new = self.last_try.is_none_or(|tried| now.duration_since(tried) > 4 * self.pause);
        self.pause = if is_new { PAUSE_MIN } else { (2 * self.pause).min(PAUSE_MAX) };
        self.due = Some(now + self.pause);
        is_new
    }

    /// Whether to try now. Then [`note`](Self::note) tells of what is still corrupt.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        let is_due = self.due.is_some_and(|due| due <= now);
        if is_due {
            self.due = None;
            self.last_try = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_that_stay_corrupt_are_tried_again_without_end_at_a_bounded_rate() {
        let (mut corrupt, begun) = (CorruptUnits::default(), Instant::now());
        assert!(!corrupt.is_due(begun), "nothing was corrupt");
        assert!(corrupt.note(begun) && !corrupt.note(begun));
        let mut tries = Vec::new();
        for second in 0..600 {
            let now = begun + Duration::from_secs(second);
            if corrupt.is_due(now) {
                tries.push(second);
                assert!(!corrupt.note(now), "it is known");
            }
        }
        assert_eq!(tries[..7], [1, 3, 7, 15, 31, 63, 95]);
        assert!(tries.windows(2).skip(5).all(|pair| pair[1] - pair[0] == 32), "{tries:?}");
    }

    #[test]
    fn units_that_are_newly_corrupt_are_tried_again_soon() {
        let (mut corrupt, begun) = (CorruptUnits::default(), Instant::now());
        corrupt.note(begun);
        assert!(corrupt.is_due(begun + PAUSE_MIN) && !corrupt.is_due(begun + PAUSE_MAX), "it was repaired");
        let later = begun + 2 * PAUSE_MAX;
        assert!(corrupt.note(later) && corrupt.is_due(later + PAUSE_MIN));
    }
}
