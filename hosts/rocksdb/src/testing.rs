//! Counters for tests and benchmarks only.

use crate::ElasticFilters;

/// Digests that lookups computed in databases with these filters; each thread's are published in steps of [`DIGESTS_STEP`].
pub fn digests_computed(elastic: &ElasticFilters) -> u64 {
    elastic.filters.lookups()
}

/// See [`digests_computed`].
pub const DIGESTS_STEP: u64 = 61;
