//! A clean end: everything is in the pages, and the log is empty.

use springbloom_page_device::FlashError;

use crate::filter::FlashFilter;

impl FlashFilter {
    /// Writes everything that waits to its pages, so that the next opening has nothing to recover. Writes nothing if nothing was
    /// inserted since the filter was closed before. Cost: as [`FlashFilter::flush`].
    ///
    /// What was committed is durable whether or not this is called; a filter that is dropped instead is recovered by the next
    /// opening for writing.
    pub fn close(self) -> Result<(), FlashError> {
        if !self.storage.is_writable() {
            return Ok(());
        }
        let is_clean = self.wal().is_empty() && !self.sound_writer()?.has_changed;
        if is_clean { Ok(()) } else { self.flush() }
    }
}
