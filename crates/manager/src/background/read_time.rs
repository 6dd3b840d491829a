//! How many reads of units are made at once, by how long they take: a slow device serves several reads in the time of one.

use std::time::Duration;

/// A device whose reads take longer is mostly idle while it makes one read at a time.
const SLOW: Duration = Duration::from_micros(500);
/// Reads at once of a slow device.
const IN_FLIGHT_MAX: usize = 8;
/// The mean is over about this many reads.
const MEAN_OF: u32 = 8;

/// The mean of the last reads.
#[derive(Default)]
pub(super) struct ReadTime {
    mean: Duration,
}

impl ReadTime {
    /// Records that `reads` reads, one after the other, took `time`.
    pub(super) fn took(&mut self, time: Duration, reads: u32) {
        for _ in 0..reads.min(MEAN_OF) {
            self.mean = (self.mean * (MEAN_OF - 1) + time / reads) / MEAN_OF;
        }
    }

    /// How many reads to make at once.
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
