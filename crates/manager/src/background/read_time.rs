//! How long reads of units take, and how many are made at once: a device that takes long for one read takes several at a time.

use std::time::Duration;

/// From here on one read at a time leaves most of a device idle.
const SLOW: Duration = Duration::from_micros(500);
/// Reads at once of a slow device.
const IN_FLIGHT_MAX: usize = 8;
/// Reads of which the mean tells.
const MEAN_OF: u32 = 8;

/// The mean of the last reads.
#[derive(Default)]
pub(super) struct ReadTime {
    mean: Duration,
}

impl ReadTime {
    /// Takes in how long it took to make `reads` reads one after the other.
    pub(super) fn took(&mut self, time: Duration, reads: u32) {
        for _ in 0..reads.min(MEAN_OF) {
            self.mean = (self.mean * (MEAN_OF - 1) + time / reads) / MEAN_OF;
        }
    }

    /// Reads to be made at once.
    pub(super) fn in_flight(&self) -> usize {
        if self.mean < SLOW { 1 } else { IN_FLIGHT_MAX }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_reads_at_once_where_one_takes_long() {
        let mut time = ReadTime::default();
        time.took(Duration::from_micros(400), 4);
        assert_eq!(time.in_flight(), 1);
        (0..3).for_each(|_| time.took(Duration::from_millis(8), 4));
        assert_eq!(time.in_flight(), IN_FLIGHT_MAX);
        (0..20).for_each(|_| time.took(Duration::from_micros(60), 1));
        assert_eq!(time.in_flight(), 1);
    }
}
