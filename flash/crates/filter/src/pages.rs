//! Work on all pages of a filter, batch by batch.

use std::ops::Range;

use springbloom_page_device::{AlignedBuf, FlashError, Watch};

use crate::layer::Layer;

/// Pages read and written together.
const BATCH_PAGES: u32 = 256;

/// Receives the numbers of pages, and a buffer for them or their bytes.
type BatchVisitor<'v> = dyn FnMut(Range<u32>, &mut [u8]) -> Result<(), FlashError> + 'v;
/// Receives pages that were changed, and whether they could be written. Its error ends the work.
type Changed<'c> = dyn FnMut(Range<u32>, bool) -> Result<(), FlashError> + 'c;

impl Layer {
    /// Writes empty pages, and tells `watch` how many.
    pub(crate) fn format_pages(&self, watch: &mut Watch<'_>) -> Result<(), FlashError> {
        watch.expect(self.header.geometry.page_count.into());
        self.each_batch(&mut |pages, bytes| {
            self.format_batch(pages.start, bytes);
            self.write_batch(pages.start, bytes)?;
            watch.advance(pages.len() as u64)
        })
    }

    /// Sets every bit of `other`, which has the same shape. Returns the number of bits set now. Pages that were never written (`has_pages`
    /// says so) count as empty. Damaged sectors of either become all ones.
    pub(crate) fn take_over(
        &self,
        other: &Layer,
        has_pages: bool,
        changed: &mut Changed<'_>,
    ) -> Result<u64, FlashError> {
        let mut ones = 0;
        let mut theirs = AlignedBuf::new(self.batch_bytes());
        self.each_batch(&mut |pages, ours| {
            let offset = self.header.page_offset(pages.start);
            if has_pages {
                self.device.read(offset, ours)?;
            } else {
                self.format_batch(pages.start, ours);
            }
            let theirs = &mut theirs[..ours.len()];
            other.device.read(offset, theirs)?;
            let page_bytes = self.page_bytes();
            for (page, (ours, theirs)) in
                pages.clone().zip(ours.chunks_mut(page_bytes).zip(theirs.chunks(page_bytes)))
            {
                let damaged = self.codec.unite(page.into(), ours, &other.codec, theirs);
                self.warn_of(page, damaged);
                ones += u64::from(self.codec.ones(ours));
            }
            let written = {
                let _writing = self.writing.lock();
                self.write_batch(pages.start, ours)
            };
            let goes_on = changed(pages, written.is_ok());
            written.and(goes_on)
        })?;
        Ok(ones)
    }

    /// Sets damaged sectors to all ones, in place. `changed` receives the pages that were written. Durable on return. Returns how many
    /// sectors there were.
    pub(crate) fn mend_pages(&self, changed: &mut dyn FnMut(Range<u32>)) -> Result<u64, FlashError> {
        let mut total = 0;
        self.each_batch(&mut |pages, bytes| {
            let _writing = self.writing.lock();
            self.read_batch(pages.start, bytes);
            let mended = self.mend_batch(pages.start, bytes);
            total += mended;
            if mended > 0 {
                self.write_batch(pages.start, bytes)?;
                changed(pages);
            }
            Ok(())
        })?;
        self.sync()?;
        Ok(total)
    }

    /// Copies the pages of `from`, which has the same header. Damaged sectors become all ones. Durable on return. Returns their number.
    pub(crate) fn copy_pages(&self, from: &Layer) -> Result<u64, FlashError> {
        let mut total = 0;
        self.each_batch(&mut |pages, bytes| {
            from.read_batch(pages.start, bytes);
            total += self.mend_batch(pages.start, bytes);
            self.write_batch(pages.start, bytes)
        })?;
        self.sync()?;
        Ok(total)
    }

    /// Tells of sectors that were found damaged and are all ones now.
    pub(crate) fn warn_of(&self, page: u32, damaged: u32) {
        if damaged > 0 {
            let name = self.device.name();
            log::warn!("{name}: page {page}: {damaged} damaged sectors answer \"may match\" from now on");
        }
    }

    fn page_bytes(&self) -> usize {
        self.header.geometry.page_bytes as usize
    }

    fn batch_bytes(&self) -> usize {
        self.header.geometry.page_count.min(BATCH_PAGES) as usize * self.page_bytes()
    }

    fn each_batch(&self, visit: &mut BatchVisitor<'_>) -> Result<(), FlashError> {
        let pages = self.header.geometry.page_count;
        let mut buf = AlignedBuf::new(self.batch_bytes());
        for first in (0..pages).step_by(BATCH_PAGES as usize) {
            let end = pages.min(first.saturating_add(BATCH_PAGES));
            visit(first..end, &mut buf[..(end - first) as usize * self.page_bytes()])?;
        }
        Ok(())
    }

    fn format_batch(&self, first: u32, bytes: &mut [u8]) {
        let pages = (u64::from(first)..).zip(bytes.chunks_mut(self.page_bytes()));
        pages.for_each(|(page, bytes)| self.codec.format_empty(page, bytes));
    }

    /// An unreadable page becomes all zeros, which fails every checksum.
    fn read_batch(&self, first: u32, bytes: &mut [u8]) {
        let offset = self.header.page_offset(first);
        if self.device.read_at(offset, bytes).is_err() {
            for (n, page) in bytes.chunks_mut(self.page_bytes()).enumerate() {
                if self.device.read_at(offset + (n * page.len()) as u64, page).is_err() {
                    page.fill(0);
                }
            }
        }
    }

    fn mend_batch(&self, first: u32, bytes: &mut [u8]) -> u64 {
        let pages = (u64::from(first)..).zip(bytes.chunks_mut(self.page_bytes()));
        pages.map(|(page, bytes)| u64::from(self.codec.mend(page, bytes))).sum()
    }

    fn write_batch(&self, first: u32, bytes: &[u8]) -> Result<(), FlashError> {
        self.device.write(self.header.page_offset(first), bytes)
    }
}
