//! Clean close: all updates are in the pages, and the log is empty.

use springbloom_page_device::FlashError;

use crate::filter::FlashFilter;

impl FlashFilter {
    /// Flushes all pending updates, so that the next opening recovers nothing. Writes nothing if nothing was inserted since the last close.
    /// Cost: see [`FlashFilter::flush`].
    ///
    /// Committed keys are durable without this call. If a filter is dropped instead, the next opening for writing recovers it.
    pub fn close(self) -> Result<(), FlashError> {
        if !self.storage.is_writable() {
            return Ok(());
        }
        let is_clean = self.wal.lock().is_empty() && !self.sound_writer()?.has_changed;
        if is_clean { Ok(()) } else { self.flush() }
    }
}
