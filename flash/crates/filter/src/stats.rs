//! Counters and sizes of an open filter.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::header::FilterHeader;

/// Counters since opening.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilterStats {
    /// Keys looked up.
    pub lookups: u64,
    /// Lookups answered by pending updates.
    pub pending_hits: u64,
    /// Pages that lookups found in the page cache.
    pub cached_pages: u64,
    /// Pages read for lookups.
    pub lookup_page_reads: u64,
    /// Probed sectors that failed their checksum and answered "may match".
    pub damaged_answers: u64,
    /// Pages that were unreadable and answered "may match".
    pub failed_reads: u64,
    /// Keys inserted, repetitions included.
    pub insertions: u64,
    /// Groups flushed.
    pub group_flushes: u64,
    /// Pages read by flushes.
    pub flush_page_reads: u64,
    /// Pages written by flushes.
    pub flush_page_writes: u64,
    /// Write operations of flushes; each writes one or more contiguous pages.
    pub flush_writes: u64,
    /// Bytes written to pages by flushes.
    pub page_bytes_written: u64,
    /// Bytes written to the log.
    pub log_bytes_written: u64,
    /// Syncs of the log.
    pub log_syncs: u64,
}

/// The counters behind [`FilterStats`]. They are independent, so relaxed ordering is enough.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) lookups: AtomicU64,
    pub(crate) pending_hits: AtomicU64,
    pub(crate) cached_pages: AtomicU64,
    pub(crate) lookup_page_reads: AtomicU64,
    pub(crate) damaged_answers: AtomicU64,
    pub(crate) failed_reads: AtomicU64,
    pub(crate) insertions: AtomicU64,
    pub(crate) group_flushes: AtomicU64,
    pub(crate) flush_page_reads: AtomicU64,
    pub(crate) flush_page_writes: AtomicU64,
    pub(crate) flush_writes: AtomicU64,
    pub(crate) page_bytes_written: AtomicU64,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, n: u64) {
        counter.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn snapshot(&self, log_bytes_written: u64, log_syncs: u64) -> FilterStats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        FilterStats {
            lookups: get(&self.lookups),
            pending_hits: get(&self.pending_hits),
            cached_pages: get(&self.cached_pages),
            lookup_page_reads: get(&self.lookup_page_reads),
            damaged_answers: get(&self.damaged_answers),
            failed_reads: get(&self.failed_reads),
            insertions: get(&self.insertions),
            group_flushes: get(&self.group_flushes),
            flush_page_reads: get(&self.flush_page_reads),
            flush_page_writes: get(&self.flush_page_writes),
            flush_writes: get(&self.flush_writes),
            page_bytes_written: get(&self.page_bytes_written),
            log_bytes_written,
            log_syncs,
        }
    }
}

/// Settings and sizes of a filter.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterInfo {
    /// The filters of the chain, oldest first. Insertions go to the last one. There is one unless the filter grows.
    pub layers: Vec<LayerInfo>,
    /// Number of insertions, repetitions included. Keys inserted again while they were pending are not counted after the next opening.
    pub insertions: u64,
    /// Pending updates.
    pub pending_updates: u64,
    /// Memory of the open filter in bytes, without the buffers of running lookups.
    pub memory_bytes: u64,
    /// Present false positive rate of lookups.
    pub estimated_fpr: f64,
}

/// One filter of a chain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerInfo {
    /// Settings of the filter.
    pub header: FilterHeader,
    /// Estimated distinct keys: from the share of bits set in the pages, plus pending updates.
    pub estimated_keys: f64,
    /// Present rate of the pages, without pending updates.
    pub estimated_fpr: f64,
}
