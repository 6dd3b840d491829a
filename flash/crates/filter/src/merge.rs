//! Union of two filters of the same shape, page by page.

use crate::filter::FlashFilter;
use crate::layer::Layer;
use springbloom_page_device::AlignedBuf;
use springbloom_page_device::FlashError;

/// Pages merged at a time.
const BATCH_PAGES: u32 = 256;

impl FlashFilter {
    /// Adds every key of `other` to this filter. Durable on return. Both filters must have the same settings, and neither may have grown.
    /// The rate becomes that of a filter with all distinct keys of both. Cost: reads both filters and writes this one.
    ///
    /// Errors: [`FlashError::Full`], before anything is written, if these are more keys than the filter was built for, unless
    /// [`FlashFilter::set_when_full`] says that it may exceed that; [`FlashError::Incompatible`].
    pub fn merge_from(
        &self,
        other: &FlashFilter,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), FlashError> {
        if other.storage.is_writable() {
            other.flush()?;
        } else if !other.is_recovered() {
            return Err(FlashError::ReadOnly { name: other.storage.describe("") });
        }
        self.flush()?;
        let (ours, theirs) = (self.state(), other.state());
        same("number of filters in the chain", theirs.layers.len(), ours.layers.len())?;
        same("growth (the second filter would be merged into one of another size)", ours.layers.len(), 1)?;
        let (ours, theirs) = (ours.newest(), theirs.newest());
        let (our_shape, their_shape) = (ours.header.geometry, theirs.header.geometry);
        same("layout", format!("{:?}", their_shape.layout), format!("{:?}", our_shape.layout))?;
        same("bytes of a page", their_shape.page_bytes, our_shape.page_bytes)?;
        same("bits set per key", their_shape.probes, our_shape.probes)?;
        same("number of pages", their_shape.page_count, our_shape.page_count)?;
        self.sound_writer()?.require_room_for(ours, theirs)?;
        let pages = ours.header.geometry.page_count;
        let mut first = 0;
        while first < pages {
            let count = (pages - first).min(BATCH_PAGES);
            // Without the lock, a flush could change pages between reading and writing them.
            let _writer = self.sound_writer()?;
            ours.unite(theirs, first, count)?;
            (first..first + count).for_each(|page| self.cache.forget(ours.page_name(page)));
            first += count;
            progress(u64::from(first), u64::from(pages));
        }
        // The log is empty, so only the pages must be synced.
        ours.sync()?;
        ours.estimate_fill()?;
        // One lock at a time, as another thread may merge the other way round.
        let insertions = other.writer.lock().insertions();
        self.writer.lock().recovered(insertions);
        self.checkpoint(&mut self.wal.lock())
    }
}

impl Layer {
    fn unite(&self, other: &Layer, first: u32, count: u32) -> Result<(), FlashError> {
        let page_bytes = self.header.geometry.page_bytes as usize;
        let len = count as usize * page_bytes;
        let (mut bytes, mut other_bytes) = (AlignedBuf::new(len), AlignedBuf::new(len));
        let offset = self.header.page_offset(first);
        let _writing = self.writing.lock();
        self.device.read_at(offset, &mut bytes).map_err(FlashError::io("read", &self.name))?;
        other.device.read_at(offset, &mut other_bytes).map_err(FlashError::io("read", &other.name))?;
        let pairs = bytes.chunks_mut(page_bytes).zip(other_bytes.chunks(page_bytes));
        for (page, (ours, theirs)) in (u64::from(first)..).zip(pairs) {
            let damaged = self.codec.unite(page, ours, &other.codec, theirs);
            if damaged > 0 {
                log::warn!(
                    "{}: page {page}: {damaged} damaged sectors answer \"may match\" from now on",
                    self.name
                );
            }
        }
        self.device.write_at(offset, &bytes).map_err(FlashError::io("write", &self.name))
    }
}

fn same<T: PartialEq + ToString>(part: &'static str, got: T, expected: T) -> Result<(), FlashError> {
    if got == expected {
        return Ok(());
    }
    Err(FlashError::Incompatible { part, got: got.to_string(), expected: expected.to_string() })
}
