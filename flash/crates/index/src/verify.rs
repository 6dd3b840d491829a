//! Reads the whole index and reports damage.

use crate::bucket::decode;
use crate::partitions::{Bucket, Partition};
use crate::record_log::PageFault;
use crate::store::FlashIndex;
use springbloom_page_device::{FlashError, Span, WalReport, Watch};

/// Buckets read in one batch.
const BATCH: usize = 1024;

/// Result of [`FlashIndex::verify`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexVerifyReport {
    /// The write-ahead log.
    pub log: WalReport,
    /// Buckets read.
    pub buckets: u64,
    /// Buckets with a wrong checksum, or with entries for pages after the log's end. Lookups in their partitions fail.
    pub damaged_buckets: u64,
    /// Log pages read.
    pub pages: u64,
    /// Log pages with a wrong checksum. Their records are lost.
    pub damaged_pages: u64,
    /// Records in the intact pages, replaced ones included.
    pub records: u64,
}

impl IndexVerifyReport {
    /// Whether no damage was found.
    pub fn is_sound(&self) -> bool {
        self.damaged_buckets + self.damaged_pages == 0 && self.log.is_sound()
    }
}

impl FlashIndex {
    /// Reads and checks every bucket and every page of the log, and tells `watch` how many. Blocks writers, not readers. Errors: a read
    /// fails.
    pub fn verify(&self, watch: &mut Watch<'_>) -> Result<IndexVerifyReport, FlashError> {
        let _writer = self.writer.lock();
        let mut report = IndexVerifyReport { log: self.commits.verify()?, ..IndexVerifyReport::default() };
        let buckets: Vec<Bucket> = self.table.read().ordered().filter_map(Partition::bucket).collect();
        let zones = self.zone_pages();
        watch.expect(buckets.len() as u64 + zones.iter().map(|(first, end)| end - first).sum::<u64>());
        self.verify_buckets(&buckets, &mut report, watch)?;
        for (first, end) in zones {
            self.log.each_run(first, end, &mut |first, pages| {
                report.pages += pages.len() as u64;
                watch.advance(pages.len() as u64)?;
                for (page, number) in pages.into_iter().zip(first..) {
                    match page {
                        Ok(page) => report.records += page.records().count() as u64,
                        Err(fault @ PageFault::Device(_)) => return Err(self.page_error(number, fault)),
                        Err(_) => report.damaged_pages += 1,
                    }
                }
                Ok(())
            })?;
        }
        Ok(report)
    }

    fn verify_buckets(
        &self,
        buckets: &[Bucket],
        report: &mut IndexVerifyReport,
        watch: &mut Watch<'_>,
    ) -> Result<(), FlashError> {
        let log_end = self.log.page_behind();
        for batch in buckets.chunks(BATCH) {
            let spans: Vec<Span> =
                batch.iter().map(|bucket| self.span_of(*bucket, 0..bucket.sectors.into())).collect();
            let mut failure = None;
            self.buckets.read_each(&spans, &mut |n, bytes| {
                report.buckets += 1;
                let mut last_page = 0;
                let decoded = bytes.map(|bytes| {
                    decode(batch[n].key(self.salt), 0, bytes, |entry| last_page = entry.page.max(last_page))
                });
                match decoded {
                    Ok(Ok(())) if last_page < log_end => {}
                    Ok(_) => report.damaged_buckets += 1,
                    Err(e) => failure = failure.take().or(Some(self.buckets.error("read")(e))),
                }
            });
            failure.map_or(Ok(()), Err)?;
            watch.advance(batch.len() as u64)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{IndexMemory, IndexSettings};
    use springbloom_flash_testkit::{SimPower, SimStorage};

    #[test]
    fn a_bucket_that_names_pages_behind_the_end_of_the_log_is_damaged() {
        let storage = Arc::new(SimStorage::new(SimPower::steady()));
        let index =
            FlashIndex::create_in(storage, IndexSettings::new(0), IndexMemory::standard(), 1).unwrap();
        index.put(b"key", b"value").unwrap();
        index.compact(&mut Watch::none()).unwrap();
        assert!(index.verify(&mut Watch::none()).unwrap().is_sound());
        let digest = crate::record::KeyName::of(b"other", index.salt).digest(index.salt);
        index.table.write().push(digest, 12);
        index.writer.lock().pending_entries += 1;
        index.compact(&mut Watch::none()).unwrap();
        let report = index.verify(&mut Watch::none()).unwrap();
        assert_eq!((report.damaged_buckets, report.damaged_pages), (1, 0), "{report:?}");
    }
}
