//! `springbloom index create`: a new, empty index.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use springbloom_flash::device::SECTOR_BYTES;
use springbloom_flash::index::{FlashIndex, INDEX_PAGE_BYTES, IndexMemory, IndexSettings};

use super::open::explain;
use crate::failure::bad_input;
use crate::sizes::Size;

/// Make a new, empty index
#[derive(Args, Debug)]
pub(crate) struct Create {
    /// Folder for the index; it is made if it does not exist
    index: PathBuf,
    /// Keys that are expected: saves the work of growing; the index grows beyond
    #[arg(long, value_name = "KEYS", default_value_t = 0)]
    expected_keys: u64,
    /// What a lookup reads at most to find where a record is
    #[arg(long, value_name = "SIZE", default_value = "8KiB")]
    bucket_size: Size,
    /// What is reclaimed at once
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    zone_size: Size,
}

impl Create {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let settings = IndexSettings {
            bucket_sectors: u8::try_from(self.bucket_size.bytes / SECTOR_BYTES as u64)
                .map_err(|_| bad_input(format!("a bucket of {} is too large", self.bucket_size)))?,
            zone_pages: u32::try_from(self.zone_size.bytes / INDEX_PAGE_BYTES as u64)
                .map_err(|_| bad_input(format!("a zone of {} is too large", self.zone_size)))?,
            ..IndexSettings::new(self.expected_keys)
        };
        FlashIndex::create(&self.index, settings, IndexMemory::standard()).map_err(explain)?;
        Ok(ExitCode::SUCCESS)
    }
}
