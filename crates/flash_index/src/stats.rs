//! What an open index has done, what it is, and what it holds in memory.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since opening.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexStats {
    /// Keys asked for.
    pub lookups: u64,
    /// Buckets read for them.
    pub bucket_reads: u64,
    /// Pages of the log read for them, from the device or from memory.
    pub page_reads: u64,
    /// Pages read that did not hold the key.
    pub wasted_reads: u64,
    /// Keys of streams answered by a chapter in memory.
    pub locality_hits: u64,
    /// Chapters read for streams, of many pages each.
    pub chapter_reads: u64,
    /// Lookups that met the writer and started over.
    pub restarts: u64,
    /// Records appended by callers; relocated ones are not among them.
    pub records_appended: u64,
    /// Bytes of their keys and values.
    pub inserted_bytes: u64,
    /// Bytes written to the log.
    pub log_bytes_written: u64,
    /// Syncs of the log.
    pub log_syncs: u64,
    /// Bytes written to buckets.
    pub bucket_bytes_written: u64,
    /// Buckets read by sweeps.
    pub sweep_reads: u64,
    /// Bytes of manifests written.
    pub manifest_bytes_written: u64,
    /// Partitions divided.
    pub divisions: u64,
    /// Zones reclaimed.
    pub zones_reclaimed: u64,
    /// Records moved by that.
    pub records_moved: u64,
    /// Buckets that could not be read and were made anew from the log.
    pub buckets_rebuilt: u64,
}

impl IndexStats {
    /// Device reads for each key asked for; `None` before any was.
    pub fn reads_per_lookup(&self) -> Option<f64> {
        let reads = self.bucket_reads + self.page_reads + self.chapter_reads;
        (self.lookups > 0).then(|| reads as f64 / self.lookups as f64)
    }

    /// Bytes written for each byte inserted; `None` before anything was.
    pub fn write_amplification(&self) -> Option<f64> {
        let written = self.log_bytes_written + self.bucket_bytes_written + self.manifest_bytes_written;
        (self.inserted_bytes > 0).then(|| written as f64 / self.inserted_bytes as f64)
    }
}

macro_rules! counters {
    ($($name:ident),* $(,)?) => {
        /// The counters behind [`IndexStats`]; each is independent, so relaxed order is enough.
        #[derive(Debug, Default)]
        pub(crate) struct Counters { $(pub(crate) $name: Counter),* }

        impl Counters {
            pub(crate) fn snapshot(&self) -> IndexStats {
                IndexStats { $($name: self.$name.get(),)* ..IndexStats::default() }
            }
        }
    };
}

counters!(
    lookups,
    bucket_reads,
    page_reads,
    wasted_reads,
    locality_hits,
    chapter_reads,
    restarts,
    records_appended,
    inserted_bytes,
    bucket_bytes_written,
    sweep_reads,
    manifest_bytes_written,
    divisions,
    zones_reclaimed,
    records_moved,
    buckets_rebuilt,
);

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What an index is and holds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct IndexInfo {
    /// Records of the log that are not known to be stale: about the number of keys.
    pub live_records: u64,
    /// Records of the log, tombstones and replaced ones included.
    pub records: u64,
    /// Partitions of the keys.
    pub partitions: u64,
    /// Zones of the log in use.
    pub zones: u64,
    /// Bytes of the zones in use.
    pub log_bytes: u64,
    /// Bytes of the bucket device.
    pub bucket_bytes: u64,
    /// Bytes of memory, all together.
    pub memory_bytes: u64,
    /// Of these, pre-filters.
    pub prefilter_bytes: u64,
    /// Entries that wait to be appended to their buckets.
    pub pending_entries: u64,
}
