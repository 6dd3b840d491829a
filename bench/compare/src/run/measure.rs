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

/// Kinds of calls to a database. An update and an insert are a put; a read-modify-write is a get and a put; a seek is a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Get,
    /// Gets of several keys at once.
    MultiGet,
    Put,
    Delete,
    Scan,
}

impl Call {
    pub(crate) const ALL: [Call; 5] = [Call::Get, Call::MultiGet, Call::Put, Call::Delete, Call::Scan];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Call::Get => "get",
            Call::MultiGet => "multiget",
            Call::Put => "put",
            Call::Delete => "delete",
            Call::Scan => "scan",
        }
    }
}

/// Counts and times of operations. Sums over threads and rounds with [`add`](Self::add).
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) operations: u64,
    pub(crate) gets: u64,
    /// Gets whose answer was a value that was read from a data block.
    pub(crate) found_by_read: u64,
    /// Keys that `MultiGet` found. Which of them were read from a block is not known.
    pub(crate) found_in_batches: u64,
    /// Of gets; those of scans are counted apart.
    pub(crate) data_reads: u64,
    pub(crate) scan_data_reads: u64,
    pub(crate) filter_reads: u64,
    pub(crate) index_reads: u64,
    /// CPU time of the threads that did the operations.
    pub(crate) cpu: Duration,
    /// By kind, in the order of [`Call::ALL`]. A kind that was not called has none.
    latencies_ns: [Option<Histogram<u64>>; Call::ALL.len()],
}

fn histogram() -> Result<Histogram<u64>> {
    Histogram::new_with_bounds(1, MAX_LATENCY_NS, SIGNIFICANT_DIGITS).context("histogram")
}

impl Measured {
    pub(crate) fn nothing() -> Self {
        Measured {
            operations: 0,
            gets: 0,
            found_by_read: 0,
            found_in_batches: 0,
            data_reads: 0,
            scan_data_reads: 0,
            filter_reads: 0,
            index_reads: 0,
            cpu: Duration::ZERO,
            latencies_ns: Default::default(),
        }
    }

    /// Adds what another thread or round measured.
    pub(crate) fn add(&mut self, other: &Measured) -> Result<()> {
        self.operations += other.operations;
        self.gets += other.gets;
        self.found_by_read += other.found_by_read;
        self.found_in_batches += other.found_in_batches;
        self.data_reads += other.data_reads;
        self.scan_data_reads += other.scan_data_reads;
        self.filter_reads += other.filter_reads;
        self.index_reads += other.index_reads;
        self.cpu += other.cpu;
        for (sum, other) in self.latencies_ns.iter_mut().zip(&other.latencies_ns) {
            if let Some(other) = other {
                add(sum, other)?;
            }
        }
        Ok(())
    }

    /// Data blocks that were read and did not have the key. `None` where `MultiGet` found keys: RocksDB does not tell which key of a batch
    /// a block was read for.
    pub(crate) fn wasted_reads(&self) -> Option<u64> {
        (self.found_in_batches == 0).then(|| self.data_reads.saturating_sub(self.found_by_read))
    }

    pub(crate) fn record_latency(&mut self, call: Call, latency: Duration) -> Result<()> {
        let latencies = &mut self.latencies_ns[call as usize];
        let latencies = match latencies {
            Some(latencies) => latencies,
            None => latencies.insert(histogram()?),
        };
        latencies.saturating_record(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX).max(1));
        Ok(())
    }

    /// Of calls of one kind; `None` if there were none.
    pub(crate) fn latencies_ns(&self, call: Call) -> Option<&Histogram<u64>> {
        self.latencies_ns[call as usize].as_ref()
    }

    /// Of all calls.
    pub(crate) fn all_latencies_ns(&self) -> Result<Histogram<u64>> {
        let mut all = histogram()?;
        let each = self.latencies_ns.iter().flatten();
        each.into_iter().try_for_each(|latencies| all.add(latencies)).context("histogram")?;
        Ok(all)
    }
}

fn add(sum: &mut Option<Histogram<u64>>, other: &Histogram<u64>) -> Result<()> {
    match sum {
        Some(sum) => sum.add(other).context("histogram"),
        None => {
            *sum = Some(other.clone());
            Ok(())
        }
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
        measured.data_reads += data - measured.scan_data_reads;
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
        let mut sum = Measured::nothing();
        let mut one = Measured::nothing();
        one.record_latency(Call::Get, Duration::from_micros(5)).expect("histogram");
        one.record_latency(Call::Put, Duration::from_micros(50)).expect("histogram");
        (one.gets, one.data_reads, one.found_by_read) = (2, 3, 1);
        sum.add(&one).and_then(|()| sum.add(&one)).expect("same bounds");
        assert_eq!((sum.gets, sum.wasted_reads()), (4, Some(4)));
        sum.found_in_batches = 1;
        assert_eq!(sum.wasted_reads(), None);
        let count = |call| sum.latencies_ns(call).map(Histogram::len);
        assert_eq!((count(Call::Get), count(Call::Put), count(Call::Scan)), (Some(2), Some(2), None));
        let all = sum.all_latencies_ns().expect("same bounds");
        assert_eq!((all.len(), all.max() > 40_000, all.min() < 6_000), (4, true, true));
    }
}
