//! Reads everything and says what is damaged.

use super::bucket::decode;
use super::partitions::Partition;
use super::record_log::PageFault;
use super::store::FlashIndex;
use crate::device::{SECTOR_BYTES, Span};
use crate::error::FlashError;

/// Buckets or pages read in one batch.
const BATCH: usize = 1024;

/// What [`FlashIndex::verify`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexVerifyReport {
    /// Buckets read.
    pub buckets: u64,
    /// Of these, with a wrong checksum: lookups in their partitions fail.
    pub damaged_buckets: u64,
    /// Entries of the others.
    pub entries: u64,
    /// Pages of the log read.
    pub pages: u64,
    /// Of these, with a wrong checksum: their records are lost.
    pub damaged_pages: u64,
    /// Records of the others, replaced ones included.
    pub records: u64,
}

impl IndexVerifyReport {
    /// Whether everything is as it was written.
    pub fn is_sound(&self) -> bool {
        self.damaged_buckets + self.damaged_pages == 0
    }
}

impl FlashIndex {
    /// Reads every bucket and every page of the log and checks them. Holds up writers, not readers. Errors: the device refuses.
    pub fn verify(&self) -> Result<IndexVerifyReport, FlashError> {
        let _writer = self.writer();
        self.log.write_out()?;
        let mut report = IndexVerifyReport::default();
        self.verify_buckets(&mut report)?;
        for (first, end) in self.zone_pages() {
            let pages: Vec<u64> = (first..end).collect();
            for batch in pages.chunks(BATCH) {
                self.verify_pages(batch, &mut report)?;
            }
        }
        Ok(report)
    }

    fn verify_buckets(&self, report: &mut IndexVerifyReport) -> Result<(), FlashError> {
        let buckets: Vec<_> = self.table().ordered().filter_map(Partition::bucket).collect();
        for batch in buckets.chunks(BATCH) {
            let spans: Vec<Span> = batch
                .iter()
                .map(|bucket| Span {
                    offset: u64::from(bucket.slot) * self.bucket_bytes() as u64,
                    len_bytes: usize::from(bucket.sectors) * SECTOR_BYTES,
                })
                .collect();
            let mut failure = None;
            self.buckets.read_each(&spans, &mut |n, bytes| {
                report.buckets += 1;
                let mut entries = 0;
                match bytes.map(|bytes| decode(batch[n].key(self.salt), bytes, |_| entries += 1)) {
                    Ok(Ok(())) => report.entries += entries,
                    Ok(Err(_)) => report.damaged_buckets += 1,
                    Err(e) => failure = failure.take().or(Some(self.unread_bucket(e))),
                }
            });
            failure.map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    fn verify_pages(&self, pages: &[u64], report: &mut IndexVerifyReport) -> Result<(), FlashError> {
        let mut failure = None;
        self.log.read_each(pages, &mut |n, page| {
            report.pages += 1;
            match page {
                Ok(page) => report.records += page.records().count() as u64,
                Err(PageFault::Device(e)) => {
                    failure = failure.take().or(Some(self.page_error(pages[n], PageFault::Device(e))));
                }
                Err(PageFault::Damaged | PageFault::Reclaimed) => report.damaged_pages += 1,
            }
        });
        failure.map_or(Ok(()), Err)
    }
}
