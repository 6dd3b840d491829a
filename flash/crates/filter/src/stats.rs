//! Counters and sizes of an open filter.

use springbloom_page_device::counters;

use crate::header::FilterHeader;

counters! {
    /// Counters since opening.
    pub struct FilterStats, Counters {
        /// Keys looked up.
        lookups,
        /// Lookups answered by pending updates.
        pending_hits,
        /// Pages read for lookups.
        lookup_page_reads,
        /// Probed sectors that failed their checksum and answered "may match".
        damaged_answers,
        /// Pages that were unreadable and answered "may match".
        failed_reads,
        /// Keys inserted, repetitions included.
        insertions,
        /// Groups flushed.
        group_flushes,
        /// Pages read and written by flushes.
        flush_page_writes,
        /// Write operations of flushes; each writes one or more contiguous pages.
        flush_writes,
        /// Bytes written to pages by flushes.
        page_bytes_written,
    }
}

/// Settings and sizes of a filter.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterInfo {
    /// The filters of the chain, oldest first. Insertions go to the last one. There is one unless the filter grows.
    pub layers: Vec<LayerInfo>,
    /// Number of insertions, repetitions included. Keys inserted again while they were pending are not counted after the next opening.
    pub insertions: u64,
    /// Pending updates, or those in the log of an interrupted writer.
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

/// What a filter takes that is yet to be made: see [`FlashFilter::costs`](crate::FlashFilter::costs).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Bytes on disk of the filter.
    pub filter_bytes: u64,
    /// Bytes on disk of its log. Openings with more memory make it longer, none makes it shorter.
    pub log_bytes: u64,
    /// Bytes written, about, to fill it with distinct keys in long batches.
    pub written_bytes: u64,
}
