//! The same number of units for every segment; what is left of the budget is spread evenly as one unit more for some.
//!
//! What an engine with a fixed number of bits per key does, under a budget: the least that any other policy must reach.

use super::sorted_runs::{RunKey, SortedRuns};

/// The policy `uniform`: all tables count as one run.
pub(super) fn new() -> SortedRuns {
    SortedRuns::new(|_, _| RunKey::ALL)
}
