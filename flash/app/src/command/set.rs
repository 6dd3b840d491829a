//! `springflash set`: a set of keys on flash that answers "may be there" or "certainly not", larger than memory.

mod add;
mod check;
mod create;
mod info;
mod keys;
mod merge;
mod open;
mod plan;
mod repair;
mod verify;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

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
    Plan(plan::Plan),
    Create(create::Create),
    Add(add::Add),
    Check(check::Check),
    Info(info::Info),
    Verify(verify::Verify),
    Merge(merge::Merge),
    Repair(repair::Repair),
}

impl Set {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        match &self.action {
            Action::Add(add) => return add.run(),
            Action::Check(check) => return check.run(),
            Action::Plan(plan) => plan.run(),
            Action::Create(create) => create.run(),
            Action::Info(info) => info.run(),
            Action::Verify(verify) => verify.run(),
            Action::Merge(merge) => merge.run(),
            Action::Repair(repair) => repair.run(),
        }
        .map(|()| ExitCode::SUCCESS)
    }
}
