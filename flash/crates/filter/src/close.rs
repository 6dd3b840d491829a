//! Clean close: all updates are in the pages, and the log is empty.

use springbloom_page_device::{FlashError, Watch};

use crate::filter::FlashFilter;

impl FlashFilter {
    /// Flushes all pending updates, so that the next opening recovers nothing. Writes nothing if nothing was inserted since the last close.
    /// Cost: see [`FlashFilter::flush`].
    ///
    /// Committed keys are durable without this call. If a filter is dropped instead, the next opening for writing recovers it.
    pub fn close(self) -> Result<(), FlashError> {
        self.close_watched(&mut Watch::none())
    }

    /// The same with a watch, which is told the updates that are flushed. If it ends early, all keys are durable in the log, and the next
    /// opening for writing goes on.
    pub fn close_watched(self, watch: &mut Watch<'_>) -> Result<(), FlashError> {
        if !self.storage.is_writable() {
            return Ok(());
        }
        let is_clean = self.wal.lock().is_empty() && !self.sound_writer()?.has_changed;
        if is_clean {
            return Ok(());
        }
        let flushed = {
            let mut wal = self.wal.lock();
            let mut writer = self.sound_writer()?;
            self.flush_held(&mut wal, &mut writer, watch)
        };
        match flushed {
            Err(stopped @ FlashError::Stopped) => self.commit().and(Err(stopped)),
            flushed => flushed,
        }
    }
}
