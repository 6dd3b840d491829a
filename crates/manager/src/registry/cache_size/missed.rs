//! The share of the false positives that the negative cache misses.

use crate::visits::OutcomeTotals;

/// What a negative cache catches of the false positives, measured lately.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KnownAbsences {
    /// Bytes of the cache; 0 if there is none.
    pub bytes: u64,
    /// Share of the false positives that it catches, 0..=1.
    pub caught: f64,
}

/// How visits of lookups ended lately, in all tables together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lately {
    /// Visits, found keys included.
    pub visits: f64,
    /// Of them, those that wasted a read.
    pub wasted_reads: f64,
    /// What the negative cache caught.
    pub absences: KnownAbsences,
}

/// Measures what is missed.
pub(super) struct Missed {
    /// Share of the false positives that the cache misses. It scales the analytic rates of units.
    share: f64,
    /// Outcomes ever, when it was measured last.
    visits: u64,
    wasted_reads: u64,
    known_absent: u64,
    /// Visits of some windows, those longer ago with less weight.
    late_visits: f64,
    /// Of them, those that passed the units for nothing.
    late_passed: f64,
    /// Of these, those that wasted a read.
    late_wasted: f64,
}

impl Default for Missed {
    fn default() -> Self {
        Self {
            share: 1.0,
            visits: 0,
            wasted_reads: 0,
            known_absent: 0,
            late_visits: 0.0,
            late_passed: 0.0,
            late_wasted: 0.0,
        }
    }
}

impl Missed {
    /// Visits that a measurement needs.
    const VISITS_MIN: u64 = 256;
    /// When lately so many reads were wasted, all that came before counts half.
    const WASTED_MAX: f64 = 1024.0;

    /// Share of the false positives that the cache misses.
    pub(super) fn share(&self) -> f64 {
        self.share
    }

    pub(super) fn measure(&mut self, totals: OutcomeTotals) {
        let wasted = totals.wasted_reads - self.wasted_reads;
        let passed = wasted + totals.known_absent - self.known_absent;
        if passed < Self::VISITS_MIN {
            return;
        }
        self.share = (self.share + wasted as f64 / passed as f64) / 2.0;
        self.late_visits += (totals.visits() - self.visits) as f64;
        self.late_passed += passed as f64;
        self.late_wasted += wasted as f64;
        if self.late_wasted >= Self::WASTED_MAX {
            for late in [&mut self.late_visits, &mut self.late_passed, &mut self.late_wasted] {
                *late /= 2.0;
            }
        }
        (self.visits, self.wasted_reads, self.known_absent) =
            (totals.visits(), totals.wasted_reads, totals.known_absent);
    }

    /// The budget is another: what was wasted under the one before says little.
    pub(super) fn forget_wasted(&mut self) {
        (self.late_visits, self.late_passed, self.late_wasted) = (0.0, 0.0, 0.0);
    }

    /// What was measured, with a cache of so many bytes.
    pub(super) fn lately(&self, bytes: usize) -> Lately {
        let share = if self.late_passed > 0.0 { self.late_wasted / self.late_passed } else { self.share };
        let absences = KnownAbsences { bytes: bytes as u64, caught: 1.0 - share };
        Lately { visits: self.late_visits, wasted_reads: self.late_wasted, absences }
    }
}
