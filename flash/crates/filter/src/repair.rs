//! Repair of a damaged filter: in place if no acknowledged key is lost, otherwise into another folder.

use std::path::Path;
use std::sync::Arc;

use springbloom_page_device::{
    Access, FileStorage, FlashError, IoEngine, NamedDevice, Storage, Wal, Watch, require_empty,
};

use crate::filter::FlashFilter;
use crate::header::FilterHeader;
use crate::layer::{Layer, file_name};
use crate::open::open_log;
use crate::settings::BufferSettings;
use crate::state::{Chain, LAYERS_MAX};

/// Result of [`FlashFilter::salvage`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SalvageReport {
    /// Filters of the chain in the new filter.
    pub layers: u64,
    /// Sectors that were unreadable. They answer "may match" from now on, so they lose no key.
    pub damaged_sectors: u64,
    /// Readable updates of the log, one per key.
    pub recovered_updates: u64,
    /// Unreadable commits of the log. Their keys are lost.
    pub lost_commits: u64,
    /// The whole log was unreadable. Keys inserted since the last flush are lost.
    pub lost_log: bool,
    /// Filters whose pages are older than the log. Their keys of the time between are lost.
    pub outdated_filters: u64,
}

impl SalvageReport {
    /// Whether an acknowledged key may be missing.
    pub fn has_losses(&self) -> bool {
        self.lost_commits > 0 || self.lost_log || self.outdated_filters > 0
    }
}

impl FlashFilter {
    /// Sets the damaged sectors of all pages to all ones, so that they answer "may match" as before, and writes the log again. The headers
    /// were repaired at opening. Returns the number of these sectors. No key is lost. Cost: reads all pages.
    pub fn repair(&self) -> Result<u64, FlashError> {
        self.flush()?;
        let _writer = self.sound_writer()?;
        let mut mended = 0;
        for layer in &self.state().layers {
            mended += layer.mend_pages(&mut |pages| {
                pages.for_each(|page| self.cache.forget(layer.page_name(page)));
            })?;
        }
        Ok(mended)
    }

    /// Makes a filter in `to` of everything readable in `from`, which is not changed. `to` must be empty or absent.
    pub fn salvage(from: &Path, to: &Path, buffer: BufferSettings) -> Result<SalvageReport, FlashError> {
        let from = FileStorage::open(from, Access::Read, IoEngine::Auto)?;
        FileStorage::make(to, |to| FlashFilter::salvage_in(&from, to, buffer))
    }

    /// [`FlashFilter::salvage`] in any storages.
    pub fn salvage_in(
        from: &dyn Storage,
        to: Arc<dyn Storage>,
        buffer: BufferSettings,
    ) -> Result<SalvageReport, FlashError> {
        require_empty(&*to)?;
        let mut report = SalvageReport::default();
        let log = match open_log(from) {
            Err(error @ (FlashError::WrongKind { .. } | FlashError::NotFound { .. })) => return Err(error),
            Err(error) if error.is_other_version() => return Err(error),
            opened => opened.ok(),
        };
        let chain = match log.as_ref().and_then(|log| Chain::decode(log).ok()) {
            Some(chain) => chain,
            None => {
                report.lost_log = true;
                chain_of_files(from)?
            }
        };
        for (header, ones) in &chain.layers {
            let old = Layer::open_damaged(from, *header, *ones)?;
            if let Some(log) = log.as_ref().filter(|_| chain.is_stamped) {
                report.outdated_filters += u64::from(old.stamped(log.generation()).is_err());
            }
            let new = Layer::create_unwritten(&*to, *header)?;
            report.damaged_sectors += new.copy_pages(&old)?;
            report.layers += 1;
        }
        let salt = chain.layers[0].0.salt;
        let empty = Chain { pending_updates: 0, ..chain };
        drop(Wal::create(&*to, salt, 0, empty.encode(), &mut Watch::none())?);
        let filter = FlashFilter::open_in(to, buffer)?;
        for layer in &filter.state().layers {
            layer.estimate_fill()?;
        }
        if report.lost_log {
            // Whether the filter is full follows from its bits alone.
            filter.sound_writer()?.recovered(filter.state().newest().estimated_keys() as u64);
        }
        if let Some(log) = log.filter(|_| !report.lost_log) {
            let read = log.salvage(&mut |commit| {
                report.recovered_updates += filter.put_committed(commit)?;
                Ok(())
            })?;
            report.lost_commits = read.lost_commits;
        }
        filter.flush()?;
        Ok(report)
    }
}

/// The chain according to the headers of its files, for a filter whose log is unreadable.
fn chain_of_files(from: &dyn Storage) -> Result<Chain, FlashError> {
    let mut layers = Vec::new();
    for number in 0..LAYERS_MAX as u32 {
        let device = NamedDevice::open(from, &file_name(number));
        match device.and_then(|device| FilterHeader::read(&device)) {
            Ok(header) if header.layer == number => layers.push((header, 0)),
            Ok(_) => break,
            Err(error) if layers.is_empty() => return Err(error),
            Err(_) => break,
        }
    }
    Ok(Chain { insertions: 0, pending_updates: 0, is_stamped: false, layers })
}
