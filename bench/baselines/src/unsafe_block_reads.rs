//! Counts of block reads by kind, which the C interface of RocksDB has in a text report alone (`cpp/block_reads.cc`).

#![allow(unsafe_code)]

unsafe extern "C" {
    fn springbloom_baselines_block_reads(data: *mut u64, index: *mut u64, filter: *mut u64);
}

/// Blocks of each kind that a thread read, where RocksDB counts them (`PerfStatsLevel::EnableCount`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockReads {
    /// Data blocks.
    pub data: u64,
    /// Index blocks.
    pub index: u64,
    /// Filter blocks.
    pub filter: u64,
}

impl BlockReads {
    /// Those of the calling thread since its counters were reset. A few nanoseconds.
    pub fn of_this_thread() -> Self {
        let mut reads = Self::default();
        // SAFETY: the places live through the call, which only writes a number to each.
        unsafe { springbloom_baselines_block_reads(&mut reads.data, &mut reads.index, &mut reads.filter) };
        reads
    }
}
