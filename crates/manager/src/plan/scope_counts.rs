//! Counts by column family.

/// What happened in the tables of a [`ScopeId`](crate::ScopeId) since it has tables. Visits are an estimate: each that the policy learns
/// from counts for as many as it stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScopeCounts {
    /// Visits that resident units ended.
    pub rejected: u64,
    /// Visits that read a data block for nothing.
    pub wasted_reads: u64,
    /// All others: those that found the key, of which an earlier one had found that the key is not there, or that were not to read a block.
    pub passed: u64,
    /// Units that became resident by reading them. Exact.
    pub loads: u64,
}

impl ScopeCounts {
    /// All visits.
    pub fn visits(&self) -> u64 {
        self.rejected + self.wasted_reads + self.passed
    }

    /// Adds what happened elsewhere.
    pub fn add(&mut self, other: Self) {
        let Self { rejected, wasted_reads, passed, loads } = self;
        *rejected += other.rejected;
        *wasted_reads += other.wasted_reads;
        *passed += other.passed;
        *loads += other.loads;
    }
}
