//! The interface of the measured filters, ours and the flat one.

use springbloom_filter::KeyDigest;
use springbloom_flash_filter::FlashFilter;

/// Pages read by lookups and written by flushes.
#[derive(Clone, Copy, Default)]
pub(crate) struct PageCounts {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
}

pub(crate) trait Measured {
    fn insert_many(&mut self, keys: &[KeyDigest]);
    fn flush(&mut self);
    fn contains(&mut self, key: KeyDigest) -> bool;
    fn contains_many(&mut self, keys: &[KeyDigest]) -> Vec<bool>;
    /// Since the filter was opened.
    fn pages(&self) -> PageCounts;
}

impl Measured for FlashFilter {
    fn insert_many(&mut self, keys: &[KeyDigest]) {
        FlashFilter::insert_many(self, keys).expect("insert");
    }

    fn flush(&mut self) {
        FlashFilter::flush(self).expect("flush");
    }

    fn contains(&mut self, key: KeyDigest) -> bool {
        FlashFilter::contains(self, key)
    }

    fn contains_many(&mut self, keys: &[KeyDigest]) -> Vec<bool> {
        FlashFilter::contains_many(self, keys)
    }

    fn pages(&self) -> PageCounts {
        let stats = self.stats();
        PageCounts { reads: stats.lookup_page_reads, writes: stats.flush_page_writes }
    }
}
