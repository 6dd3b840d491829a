//! `springflash set copy` and `springflash index copy`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use springbloom_console::{bad_input, folder};

use crate::flash::{Access, FileStorage, FlashError, Storage, Watch, drawn, explain, explain_opening};

/// The folders of a copy
#[derive(Args, Debug)]
pub(crate) struct Folders {
    /// Folder of the original
    from: PathBuf,
    /// Folder for the copy, new or empty
    to: PathBuf,
}

/// Copies what is open to a folder.
type Copy<T> = fn(&T, &Path, &mut Watch<'_>) -> Result<(), FlashError>;

impl Folders {
    /// Copies the original, a set or an index as `kind` says. Writes nothing to it.
    pub(crate) fn copy<T>(
        &self,
        kind: &str,
        open: impl FnOnce(Arc<dyn Storage>, &mut Watch<'_>) -> Result<T, FlashError>,
        copy: Copy<T>,
    ) -> Result<ExitCode> {
        folder::require_parent(&self.to)?;
        let mut step = drawn(&format!("opening {}", self.from.display()));
        let opened = FileStorage::shared(&self.from, Access::Read).and_then(|from| open(from, &mut step));
        drop(step);
        let original = opened.map_err(|error| match error {
            FlashError::InUse { .. } => bad_input(format!(
                "{error}. While a program has it open for writing, only that program can copy it: `copy_to` in Rust, `copy` in Python"
            )),
            _ => explain_opening(&self.from, kind, error),
        })?;
        copy(&original, &self.to, &mut drawn("copying")).map_err(explain)?;
        Ok(ExitCode::SUCCESS)
    }
}
