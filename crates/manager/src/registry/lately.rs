//! How visits ended lately, in all tables together. The counts of segments fade faster.

use crate::visits::OutcomeTotals;

/// How visits of lookups ended lately, in all tables together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lately {
    /// Visits, found keys included.
    pub visits: f64,
    /// Of them, those that wasted a read.
    pub wasted_reads: f64,
}

/// Visits taken in between two looks.
const LOOK_EVERY_TICKS: u64 = 4096;
/// Wasted reads that a measurement needs.
const WASTED_MIN: u64 = 256;
/// When lately this many reads were wasted, all that came before counts half.
const WASTED_MAX: f64 = 1024.0;

/// Measures it.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    look_at_ticks: u64,
    /// Of all time, when it was measured last.
    visits: u64,
    wasted_reads: u64,
    pub(crate) lately: Lately,
}

impl Recent {
    /// Looks at the totals if it is time to, when `ticks` visits were taken in.
    pub(super) fn measure(&mut self, ticks: u64, totals: impl FnOnce() -> OutcomeTotals) {
        if ticks < self.look_at_ticks {
            return;
        }
        self.look_at_ticks = ticks + LOOK_EVERY_TICKS;
        let totals = totals();
        let (visits, wasted_reads) = (totals.visits(), totals.wasted_reads);
        if wasted_reads - self.wasted_reads < WASTED_MIN {
            return;
        }
        self.lately.visits += (visits - self.visits) as f64;
        self.lately.wasted_reads += (wasted_reads - self.wasted_reads) as f64;
        if self.lately.wasted_reads >= WASTED_MAX {
            self.lately.visits /= 2.0;
            self.lately.wasted_reads /= 2.0;
        }
        (self.visits, self.wasted_reads) = (visits, wasted_reads);
    }

    /// The budget is another: what was wasted under the one before says little.
    pub(super) fn forget(&mut self) {
        self.lately = Lately::default();
    }
}
