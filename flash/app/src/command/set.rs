//! `springflash set`: a set of keys on flash that answers "may be there" or "certainly not", larger than memory.

mod add;
mod check;
mod create;
mod info;
mod keys;
mod merge;
mod open;
mod repair;
mod verify;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::command::copy::Folders;
use crate::flash::{FlashFilter, Storage, Watch};

/// Keep a set of keys in a Bloom filter on flash, larger than memory
///
/// Keys are lines (or, with --null, end with NUL).
#[derive(Args, Debug)]
pub(crate) struct Set {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    Create(create::Create),
    Add(add::Add),
    Check(check::Check),
    Info(info::Info),
    Verify(verify::Verify),
    Merge(merge::Merge),
    Copy(Copy),
    Repair(repair::Repair),
}

/// Copy a set
///
/// The copy is complete and durable. While a program writes the set, only that program can copy it; a copy by `cp` or `rsync` is then
/// complete, or does not open.
#[derive(Args, Debug)]
struct Copy {
    #[command(flatten)]
    folders: Folders,
    #[command(flatten)]
    buffer: open::BufferOptions,
}

impl Copy {
    fn run(&self) -> Result<ExitCode> {
        let settings = self.buffer.settings()?;
        let open =
            |from: Arc<dyn Storage>, step: &mut Watch<'_>| FlashFilter::open_watched(from, settings, step);
        self.folders.copy("set", open, FlashFilter::copy_to)
    }
}

impl Set {
    /// Runs the subcommand.
    ///
    /// # Errors
    /// Those of the subcommand.
    pub(crate) fn run(&self) -> Result<ExitCode> {
        match &self.action {
            Action::Create(create) => create.run(),
            Action::Add(add) => add.run(),
            Action::Check(check) => check.run(),
            Action::Info(info) => info.run(),
            Action::Verify(verify) => verify.run(),
            Action::Merge(merge) => merge.run(),
            Action::Copy(copy) => copy.run(),
            Action::Repair(repair) => repair.run(),
        }
    }
}
