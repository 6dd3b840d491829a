//! Meters: latencies, CPU time, and RocksDB's counts of block reads of the calling thread.

use std::time::Duration;

use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use rocksdb::perf::{PerfContext, PerfStatsLevel, set_perf_stats};
use rustix::time::{ClockId, clock_gettime};
use springbloom_baselines::BlockReads;

/// Latencies beyond this are recorded as this.
const MAX_LATENCY_NS: u64 = 60_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

/// Counts and times of operations. Sums over threads and rounds with [`add`](Self::add).
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) operations: u64,
    pub(crate) gets: u64,
    /// Gets whose answer was a value that was read from a data block.
    pub(crate) found_by_read: u64,
    pub(crate) data_reads: u64,
    pub(crate) filter_reads: u64,
    pub(crate) index_reads: u64,
    /// CPU time of the threads that did the operations.
    pub(crate) cpu: Duration,
    pub(crate) latencies_ns: Histogram<u64>,
}

impl Measured {
    pub(crate) fn nothing() -> Result<Self> {
        Ok(Measured {
            operations: 0,
            gets: 0,
            found_by_read: 0,
            data_reads: 0,
            filter_reads: 0,
            index_reads: 0,
            cpu: Duration::ZERO,
            latencies_ns: Histogram::new_with_bounds(1, MAX_LATENCY_NS, SIGNIFICANT_DIGITS)
                .context("histogram")?,
        })
    }

    /// Adds what another thread or round measured.
    pub(crate) fn add(&mut self, other: &Measured) -> Result<()> {
        self.operations += other.operations;
        self.gets += other.gets;
        self.found_by_read += other.found_by_read;
        self.data_reads += other.data_reads;
        self.filter_reads += other.filter_reads;
        self.index_reads += other.index_reads;
        self.cpu += other.cpu;
        self.latencies_ns.add(&other.latencies_ns).context("histogram")
    }

    /// Data blocks that were read and did not have the key.
    pub(crate) fn wasted_reads(&self) -> u64 {
        self.data_reads.saturating_sub(self.found_by_read)
    }

    pub(crate) fn record_latency(&mut self, latency: Duration) {
        self.latencies_ns.saturating_record(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX).max(1));
    }
}

/// RocksDB's counters and the CPU clock of the current thread, from [`start`](Self::start) on.
pub(crate) struct ThreadMeter {
    cpu_at_start: Duration,
}

impl ThreadMeter {
    pub(crate) fn start() -> Self {
        set_perf_stats(PerfStatsLevel::EnableCount);
        PerfContext::default().reset();
        ThreadMeter { cpu_at_start: thread_cpu() }
    }

    /// Data blocks that were read so far. A few nanoseconds.
    pub(crate) fn data_reads(&self) -> u64 {
        BlockReads::of_this_thread().data
    }

    /// Puts the totals into `measured`.
    pub(crate) fn finish(self, measured: &mut Measured) {
        measured.cpu += thread_cpu() - self.cpu_at_start;
        let BlockReads { data, index, filter } = BlockReads::of_this_thread();
        measured.data_reads += data;
        measured.index_reads += index;
        measured.filter_reads += filter;
    }
}

fn thread_cpu() -> Duration {
    cpu_of(ClockId::ThreadCPUTime)
}

/// CPU time of all threads so far, in user and system mode.
pub(super) fn process_cpu() -> Duration {
    cpu_of(ClockId::ProcessCPUTime)
}

fn cpu_of(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_over_threads() {
        let mut sum = Measured::nothing().expect("histogram");
        let mut one = Measured::nothing().expect("histogram");
        one.record_latency(Duration::from_micros(5));
        (one.gets, one.data_reads, one.found_by_read) = (2, 3, 1);
        sum.add(&one).and_then(|()| sum.add(&one)).expect("same bounds");
        assert_eq!((sum.gets, sum.wasted_reads(), sum.latencies_ns.len()), (4, 4, 2));
    }
}
