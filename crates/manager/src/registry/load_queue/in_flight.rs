//! Reads under way.

use std::time::{Duration, Instant};

/// Reads at once.
pub(crate) const READS_MAX: usize = 16;
/// A read that takes longer may hang: nobody waits for its room.
const SOON: Duration = Duration::from_millis(20);

/// Counts reads by source. A source may have half of them, at most: the next one that hangs, half of the rest.
#[derive(Default)]
pub(super) struct InFlight {
    sources: Vec<(u32, usize)>,
    last_begun: Option<Instant>,
}

impl InFlight {
    /// Whether there is a read to spare for the source.
    pub(super) fn may_begin(&self, source: u32) -> bool {
        let all: usize = self.sources.iter().map(|&(_, reads)| reads).sum();
        let of_source =
            self.sources.iter().find(|&&(known, _)| known == source).map_or(0, |&(_, reads)| reads);
        of_source + all < READS_MAX
    }

    /// Whether a read that began lately is under way.
    pub(super) fn has_recent(&self) -> bool {
        !self.sources.is_empty() && self.last_begun.is_some_and(|begun| begun.elapsed() < SOON)
    }

    pub(super) fn begin(&mut self, source: u32) {
        self.last_begun = Some(Instant::now());
        match self.sources.iter_mut().find(|&&mut (known, _)| known == source) {
            Some((_, reads)) => *reads += 1,
            None => self.sources.push((source, 1)),
        }
    }

    pub(super) fn end(&mut self, source: u32) {
        if let Some((_, reads)) = self.sources.iter_mut().find(|&&mut (known, _)| known == source) {
            *reads -= 1;
        }
        self.sources.retain(|&(_, reads)| reads > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_a_read_that_hangs() {
        let mut in_flight = InFlight::default();
        assert!(!in_flight.has_recent());
        in_flight.begin(0);
        in_flight.last_begun = in_flight.last_begun.map(|begun| begun + SOON);
        assert!(in_flight.has_recent());
        in_flight.last_begun = in_flight.last_begun.map(|begun| begun - 2 * SOON);
        assert!(!in_flight.has_recent());
    }

    #[test]
    fn sources_that_hang_leave_reads_to_others() {
        let mut in_flight = InFlight::default();
        let mut hang = |source| {
            let mut reads = 0;
            while in_flight.may_begin(source) {
                in_flight.begin(source);
                reads += 1;
            }
            reads
        };
        assert_eq!([0, 1, 2, 3, 4, 5].map(&mut hang), [8, 4, 2, 1, 1, 0]);
        in_flight.end(0);
        assert!(in_flight.may_begin(5) && !in_flight.may_begin(0));
        (0..7).for_each(|_| in_flight.end(0));
        assert!(in_flight.may_begin(0));
    }
}
