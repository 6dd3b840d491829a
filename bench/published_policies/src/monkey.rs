//! Monkey (Dayan et al., SIGMOD'17): the best static allocation for lookups spread evenly over the keys.
//!
//! A lookup visits every sorted run once, so a unit's worth is the same fall of fpr in a small run as in a large one but
//! costs less: small runs get more units. A run is a level of a scope, or a single table where tables overlap
//! (level 0) or the level is unknown.

use crate::sorted_runs::{RunKey, SortedRuns};

/// The policy `monkey`.
pub(crate) fn new() -> SortedRuns {
    SortedRuns::new(|run, size| match run.level {
        Some(level) if !run.is_of_single_tables() => RunKey::level(run.scope, level),
        _ => RunKey::tables_of(size),
    })
}
