//! Counters, sizes and memory of an open index.

use springbloom_page_device::counters;

counters! {
    /// Counters since opening.
    #[non_exhaustive]
    pub struct IndexStats, Counters {
        /// Keys looked up.
        lookups,
        /// Buckets read by lookups.
        bucket_reads,
        /// Log pages read by lookups, from the device or from memory.
        page_reads,
        /// Keys of streams answered from a readahead window.
        readahead_hits,
        /// Readahead windows read for streams, of many pages each.
        readahead_reads,
        /// Records appended by callers. Moved records are not counted.
        records_appended,
        /// Bytes of the appended keys and values.
        inserted_bytes,
        /// Bytes written to buckets.
        bucket_bytes_written,
        /// Bytes of manifests written.
        manifest_bytes_written,
        /// Splits of partitions.
        splits,
        /// Zones reclaimed.
        zones_reclaimed,
        /// Records moved by reclaiming.
        records_moved,
        /// Damaged buckets rebuilt from the log.
        buckets_rebuilt,
    }
}

impl IndexStats {
    /// Device reads per key looked up. `None` before the first lookup.
    pub fn reads_per_lookup(&self) -> Option<f64> {
        let reads = self.bucket_reads + self.page_reads + self.readahead_reads;
        (self.lookups > 0).then(|| reads as f64 / self.lookups as f64)
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
