//! The command `man` of programs: the manual as man pages.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use clap_mangen::Man as Page;

use crate::{folder, output};

/// Write man pages, one for each command
///
/// Without a folder, prints the first page, as `man -l -` reads it.
#[derive(Args, Debug)]
pub struct Man {
    /// Folder for the pages, made if it is missing, such as ~/.local/share/man/man1
    dir: Option<PathBuf>,
}

impl Man {
    /// Writes the pages of `program`.
    ///
    /// # Errors
    /// A folder that cannot be made, a file that cannot be written.
    pub fn run(&self, program: clap::Command) -> Result<()> {
        // The version is at the bottom of every page.
        let source = format!("{} {}", program.get_name(), program.get_version().unwrap_or_default());
        let Some(dir) = &self.dir else {
            let (_, page) = page(&built(program), &source)?;
            return output::report(|out| Ok(out.write_all(page.as_bytes())?));
        };
        folder::make(dir)?;
        write_all(&built(program), &source, dir)
            .with_context(|| format!("cannot write man pages into {}", dir.display()))
    }
}

/// `program` with the full names of its subcommands.
fn built(program: clap::Command) -> clap::Command {
    let mut program = program.disable_help_subcommand(true);
    program.build();
    program
}

/// The name of the file of a command's page, and the page.
fn page(command: &clap::Command, source: &str) -> Result<(String, String)> {
    let page = Page::new(command.clone()).source(source);
    let mut text = Vec::new();
    page.render(&mut text)?;
    // The usual name of the section.
    let text = String::from_utf8(text)?.replace(".SH EXTRA\nExit codes:\n", ".SH \"EXIT STATUS\"\n");
    Ok((page.get_filename(), text))
}

/// Writes all pages, or none: on a full disk half of a page would take the place of an older one.
fn write_all(program: &clap::Command, source: &str, dir: &Path) -> Result<()> {
    let new = tempfile::Builder::new().prefix(".man-").tempdir_in(dir)?;
    write_into(new.path(), program, source)?;
    for page in fs::read_dir(&new)? {
        let page = page?;
        fs::rename(page.path(), dir.join(page.file_name()))?;
    }
    Ok(())
}

/// Writes the pages of a command and of its subcommands.
fn write_into(dir: &Path, command: &clap::Command, source: &str) -> Result<()> {
    let (name, text) = page(command, source)?;
    fs::write(dir.join(name), text)?;
    command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .try_for_each(|command| write_into(dir, command, source))
}
