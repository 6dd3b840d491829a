//! The same number of units for every segment. The rest of the budget is spread evenly, as one more unit for some.
//!
//! This is what a fixed number of bits per key does under a budget: the baseline of every other policy.

use crate::sorted_runs::{RunKey, SortedRuns};

/// The policy `uniform`: all tables count as one run.
pub(crate) fn new() -> SortedRuns {
    SortedRuns::new(|_, _| RunKey::ALL)
}
