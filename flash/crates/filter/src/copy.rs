//! A copy of a filter that is open.

use std::path::Path;

use springbloom_page_device::{FlashError, Storage, Watch, copy_devices, copy_folder};

use crate::filter::FlashFilter;
use crate::layer::file_name;

impl FlashFilter {
    /// Makes a copy of this filter in `directory`, which must be empty or absent. It has every key that was inserted before the call, and
    /// is durable on return. Insertions wait until it ends, lookups do not. Cost: a commit, and reads and writes all files.
    ///
    /// A program that copies the files of a filter that is open for writing gets what [`FlashFilter::open`] refuses, unless nothing was
    /// written meanwhile.
    ///
    /// `watch` is told the bytes. What it ends early, or fails, leaves nothing in `directory`; a kill leaves what does not open.
    ///
    /// # Errors [`FlashError::NotEmpty`], [`FlashError::NoSpace`], [`FlashError::InvalidSetting`] if `directory` is within this filter's
    /// own, [`FlashError::WriterFailed`], or [`FlashError::Io`].
    pub fn copy_to(&self, directory: &Path, watch: &mut Watch<'_>) -> Result<(), FlashError> {
        copy_folder(&*self.storage, directory, |to| self.copy_in(to, watch))
    }

    /// [`FlashFilter::copy_to`] in any storage.
    pub fn copy_in(&self, to: &dyn Storage, watch: &mut Watch<'_>) -> Result<(), FlashError> {
        let is_writable = self.storage.is_writable();
        if is_writable {
            self.commit()?;
        }
        let wal = self.wal.lock();
        wal.check_alive()?;
        let _writer = if is_writable { self.sound_writer()? } else { self.writer.lock() };
        let names: Vec<String> =
            self.state().layers.iter().map(|layer| file_name(layer.header.layer)).collect();
        copy_devices(&*self.storage, to, &names, watch)
    }
}
