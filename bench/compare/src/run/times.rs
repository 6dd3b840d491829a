//! Times of calls: their number, mean and percentiles.

use std::time::Duration;

/// Buckets for each power of two: a percentile is known within a sixteenth.
const STEPS: u64 = 16;
const STEP_BITS: u32 = STEPS.trailing_zeros();

/// Times of many calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    sum: Duration,
    /// Calls by their time, up to the longest.
    counts: Vec<u32>,
}

impl Times {
    pub(crate) fn record(&mut self, time: Duration) {
        self.sum += time;
        let bucket = bucket(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        self.reach(bucket + 1);
        self.counts[bucket] += 1;
    }

    /// Adds what another thread or round measured.
    pub(crate) fn add(&mut self, other: &Times) {
        self.sum += other.sum;
        self.reach(other.counts.len());
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
    }

    fn reach(&mut self, buckets: usize) {
        if self.counts.len() < buckets {
            self.counts.resize(buckets, 0);
        }
    }

    pub(crate) fn count(&self) -> u32 {
        self.counts.iter().sum()
    }

    pub(crate) fn mean(&self) -> Duration {
        self.sum / self.count().max(1)
    }

    /// The time that this share of the calls did not exceed, rounded up to the end of its bucket. Zero without a call.
    pub(crate) fn percentile(&self, share: f64) -> Duration {
        let wanted = (f64::from(self.count()) * share).ceil() as u32;
        let mut seen = 0;
        let bucket = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted.max(1)
        });
        bucket.map_or(Duration::ZERO, |bucket| Duration::from_nanos(end(bucket)))
    }
}

/// Below [`STEPS`] each nanosecond has a bucket, above it each sixteenth of a power of two.
fn bucket(nanos: u64) -> usize {
    let shift = (u64::BITS - nanos.leading_zeros()).saturating_sub(STEP_BITS + 1);
    (u64::from(shift) * STEPS + (nanos >> shift)) as usize
}

/// The greatest time of a bucket.
fn end(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let shift = (bucket / STEPS).saturating_sub(1);
    ((bucket - shift * STEPS + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_one_another() {
        let mut last = 0;
        for nanos in 1..100_000 {
            let next = bucket(nanos);
            assert!(next == last || next == last + 1, "{nanos}: {last} {next}");
            assert!((nanos..=nanos + nanos / STEPS).contains(&end(next)), "{nanos}: {}", end(next));
            last = next;
        }
        assert!(end(bucket(u64::MAX / 2)) >= u64::MAX / 2);
    }

    #[test]
    fn percentiles_are_of_all_that_was_added() {
        let (mut one, mut other) = (Times::default(), Times::default());
        (1..=98).for_each(|micros| one.record(Duration::from_micros(micros)));
        (1..=2).for_each(|millis| other.record(Duration::from_millis(millis)));
        one.add(&other);
        assert_eq!((one.count(), Times::default().percentile(0.99)), (100, Duration::ZERO));
        for (share, micros) in [(0.5, 50.0), (0.98, 98.0), (0.99, 1_000.0), (1.0, 2_000.0)] {
            let found = one.percentile(share).as_secs_f64() * 1e6;
            assert!((micros..=micros * 1.0626).contains(&found), "{share}: {found}");
        }
        assert_eq!(one.mean(), Duration::from_nanos((98 * 99 / 2 + 3_000) * 10));
    }
}
