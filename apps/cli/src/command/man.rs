//! `springbloom man`: the manual as man pages.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use clap_mangen::Man as Page;
use springbloom_console::{folder, output};

/// Write man pages, one for each command
///
/// Without a folder, prints the first page: `springbloom man | man -l -`
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Folder for the pages, made if it is missing, such as ~/.local/share/man/man1
    dir: Option<PathBuf>,
}

impl Man {
    /// Writes the pages of `program`.
    ///
    /// # Errors
    /// A folder that cannot be made, a file that cannot be written.
    pub(crate) fn run(&self, program: clap::Command) -> Result<()> {
        let Some(dir) = &self.dir else {
            let mut page = Vec::new();
            Page::new(program).render(&mut page)?;
            return output::report(|out| Ok(out.write_all(&page)?));
        };
        folder::make(dir)?;
        write_all(program, dir).with_context(|| format!("cannot write man pages into {}", dir.display()))
    }
}

/// Writes all pages, or none: on a full disk half of a page would take the place of an older one.
fn write_all(program: clap::Command, dir: &Path) -> Result<()> {
    let new = tempfile::Builder::new().prefix(".springbloom-").tempdir_in(dir)?;
    clap_mangen::generate_to(program, &new)?;
    for page in fs::read_dir(&new)? {
        let page = page?;
        fs::rename(page.path(), dir.join(page.file_name()))?;
    }
    Ok(())
}
