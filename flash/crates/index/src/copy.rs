//! A copy of an index that is open.

use std::path::Path;

use springbloom_page_device::{FlashError, Storage, Watch, copy_devices, copy_folder};

use crate::manifest;
use crate::pending_file;
use crate::prefilter_file;
use crate::store::{BUCKETS_NAME, FlashIndex, LOG_NAME};

impl FlashIndex {
    /// Makes a copy of this index in `directory`, which must be empty or absent. It has every change that was made before the call, and is
    /// durable on return. Changes wait until it ends, lookups do not. Cost: a commit, and reads and writes all files.
    ///
    /// `watch` is told the bytes. What it ends early, or fails, leaves nothing in `directory`; a kill leaves what does not open.
    ///
    /// # Errors [`FlashError::NotEmpty`], [`FlashError::NoSpace`], [`FlashError::InvalidSetting`] if `directory` is within this index's
    /// own, [`FlashError::WriterFailed`], or [`FlashError::Io`].
    pub fn copy_to(&self, directory: &Path, watch: &mut Watch<'_>) -> Result<(), FlashError> {
        copy_folder(&*self.storage, directory, |to| self.copy_in(to, watch))
    }

    /// [`FlashIndex::copy_to`] in any storage.
    pub fn copy_in(&self, to: &dyn Storage, watch: &mut Watch<'_>) -> Result<(), FlashError> {
        if self.storage.is_writable() {
            self.commit()?;
        }
        // A commit of another thread goes on without the writer.
        let _commits = self.group_commit.lead(u64::MAX);
        let _writer = self.writer.lock();
        self.log.device.check_alive()?;
        let files = [LOG_NAME, BUCKETS_NAME, pending_file::NAME, prefilter_file::NAME];
        let names = files.into_iter().chain(manifest::NAMES).map(str::to_owned);
        copy_devices(&*self.storage, to, &names.collect::<Vec<_>>(), watch)
    }
}
