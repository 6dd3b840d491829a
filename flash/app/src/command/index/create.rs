//! `springflash index create`: a new, empty index.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use springbloom_console::sizes::{self, Size};
use springbloom_console::{Step, folder};

use crate::flash::{
    EXPECTED_KEYS_MAX, FlashIndex, INDEX_PAGE_BYTES, IndexMemory, IndexSettings, SECTOR_BYTES, explain,
};

const SECTOR: u64 = SECTOR_BYTES as u64;
const PAGE: u64 = INDEX_PAGE_BYTES as u64;

/// Create an empty index
#[derive(Args, Debug)]
pub(crate) struct Create {
    /// Folder for the index: a new one, or an empty one
    index: PathBuf,
    /// Expected number of keys, such as 1000000, 1e9 or 2.5M; saves the cost of growing. The index can exceed it. Far
    /// fewer keys than this cost memory and writes
    #[arg(long, value_name = "KEYS", default_value_t = 0,
        value_parser = sizes::whole_within::<u64>(0..=EXPECTED_KEYS_MAX))]
    expected_keys: u64,
    /// Bytes of a bucket, the most that a lookup reads to locate a record: 2 to 64 KiB
    #[arg(long, value_name = "SIZE", default_value = "8KiB", value_parser = sizes::within(4 * SECTOR..=128 * SECTOR, SECTOR))]
    bucket_size: Size,
    /// Bytes of a zone, the unit in which space is reclaimed: 128 KiB to 4 GiB
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = sizes::within(32 * PAGE..=PAGE << 20, PAGE))]
    zone_size: Size,
}

impl Create {
    pub(super) fn run(&self) -> Result<ExitCode> {
        // Both bounded by their parsers.
        let settings = IndexSettings {
            bucket_sectors: (self.bucket_size.bytes / SECTOR) as u8,
            zone_pages: (self.zone_size.bytes / PAGE) as u32,
            ..IndexSettings::new(self.expected_keys)
        };
        folder::require_parent(&self.index)?;
        let _step = Step::waiting(&format!("making {}", self.index.display()));
        let index = FlashIndex::create(&self.index, settings, IndexMemory::standard()).map_err(explain)?;
        index.close().map_err(explain)?;
        Ok(ExitCode::SUCCESS)
    }
}
