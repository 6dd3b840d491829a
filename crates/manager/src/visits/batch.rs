//! A batch of one thread's visits, sampled where they come too fast.

use fastrand::Rng;

use super::packed_visit::PackedVisit;
use crate::memory::taken_bytes;

/// Visits of one thread, up to a fixed number. Has no room at all where the budget has none.
#[derive(Debug, Default)]
pub(crate) struct VisitBatch {
    pub(crate) visits: Vec<PackedVisit>,
    /// Each event was noted with a chance of one in 2^this.
    pub(super) period_log2: u8,
}

impl VisitBatch {
    /// Visits that each event stands for.
    pub(crate) fn sample_weight(&self) -> u32 {
        1 << self.period_log2
    }

    pub(super) fn with_room_for(visits: usize) -> Self {
        Self { visits: Vec::with_capacity(visits), ..Self::default() }
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.visits.len() == self.visits.capacity()
    }

    /// Lets each event stand for more visits and keeps it with a chance that makes up for it.
    pub(super) fn downsample_to(&mut self, period_log2: u8, rng: &mut Rng) {
        let doublings = period_log2.saturating_sub(self.period_log2);
        if doublings > 0 {
            self.period_log2 = period_log2;
            self.visits.retain(|_| is_one_in(doublings, rng));
        }
    }

    /// Moves events here from a batch of the same period until this one is full.
    pub(super) fn fill_from(&mut self, other: &mut VisitBatch) {
        let room = self.visits.capacity() - self.visits.len();
        let moved = other.visits.len().saturating_sub(room)..;
        self.visits.extend(other.visits.drain(moved));
    }
}

/// Rarest sampling: one visit in 2^this.
pub(super) const PERIOD_LOG2_MAX: u8 = 20;

/// True with a chance of one in 2^`log2`.
#[inline]
pub(super) fn is_one_in(log2: u8, rng: &mut Rng) -> bool {
    rng.u64(..) >> (64 - u32::from(log2.max(1))) == 0
}

pub(super) fn batch_bytes(visits: usize) -> usize {
    taken_bytes(visits * size_of::<PackedVisit>())
}
