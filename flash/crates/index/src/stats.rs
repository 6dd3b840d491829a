//! Counters, sizes and memory of an open index.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since opening.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexStats {
    /// Keys looked up.
    pub lookups: u64,
    /// Buckets read by lookups.
    pub bucket_reads: u64,
    /// Log pages read by lookups, from the device or from memory.
    pub page_reads: u64,
    /// Log pages read that did not hold the key.
    pub wasted_reads: u64,
    /// Keys of streams answered from a readahead window.
    pub readahead_hits: u64,
    /// Readahead windows read for streams, of many pages each.
    pub readahead_reads: u64,
    /// Lookups that restarted because the writer changed the bucket or zone.
    pub restarts: u64,
    /// Records appended by callers. Moved records are not counted.
    pub records_appended: u64,
    /// Bytes of the appended keys and values.
    pub inserted_bytes: u64,
    /// Bytes written to the log.
    pub log_bytes_written: u64,
    /// Syncs of the log.
    pub log_syncs: u64,
    /// Bytes written to buckets.
    pub bucket_bytes_written: u64,
    /// Buckets read by flushes.
    pub flush_reads: u64,
    /// Bytes of manifests written.
    pub manifest_bytes_written: u64,
    /// Splits of partitions.
    pub splits: u64,
    /// Zones reclaimed.
    pub zones_reclaimed: u64,
    /// Records moved by reclaiming.
    pub records_moved: u64,
    /// Damaged buckets rebuilt from the log.
    pub buckets_rebuilt: u64,
}

impl IndexStats {
    /// Device reads per key looked up. `None` before the first lookup.
    pub fn reads_per_lookup(&self) -> Option<f64> {
        let reads = self.bucket_reads + self.page_reads + self.readahead_reads;
        (self.lookups > 0).then(|| reads as f64 / self.lookups as f64)
    }

    /// Bytes written per byte inserted. `None` before the first insertion.
    pub fn write_amplification(&self) -> Option<f64> {
        let written = self.log_bytes_written + self.bucket_bytes_written + self.manifest_bytes_written;
        (self.inserted_bytes > 0).then(|| written as f64 / self.inserted_bytes as f64)
    }
}

macro_rules! counters {
    ($($name:ident),* $(,)?) => {
        /// The counters behind [`IndexStats`]. They are independent, so relaxed ordering is enough.
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
    readahead_hits,
    readahead_reads,
    restarts,
    records_appended,
    inserted_bytes,
    bucket_bytes_written,
    flush_reads,
    manifest_bytes_written,
    splits,
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

/// Sizes of an index.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct IndexInfo {
    /// Estimated number of keys, if none was deleted. A record that was replaced or deleted counts until the newer one's entry is no longer
    /// pending, and a key that is put again after its deletion counts too little.
    pub live_records: u64,
    /// Records in the log, tombstones and replaced records included.
    pub records: u64,
    /// Number of partitions.
    pub partitions: u64,
    /// Zones of the log in use.
    pub zones: u64,
    /// Bytes of the zones in use.
    pub log_bytes: u64,
    /// Bytes of the bucket device.
    pub bucket_bytes: u64,
    /// Memory in total, in bytes.
    pub memory_bytes: u64,
    /// Memory of the pre-filters, in bytes. Part of `memory_bytes`.
    pub prefilter_bytes: u64,
    /// Entries that no flush has moved to a bucket yet.
    pub pending_entries: u64,
}
