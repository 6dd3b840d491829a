//! `springbloom set merge`: adds all keys of some sets to another.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::open::{BufferOptions, explain, open};
use crate::progress::Step;

/// Add all keys of other sets, made with the same settings, to a set
#[derive(Args, Debug)]
pub(crate) struct Merge {
    /// Folder of the set that takes the keys
    set: PathBuf,
    /// Folders of the sets whose keys are added
    #[arg(required = true)]
    from: Vec<PathBuf>,
    #[command(flatten)]
    buffer: BufferOptions,
}

impl Merge {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let filter = open(&self.set, &self.buffer)?;
        let pages = u64::from(filter.info().layers[0].header.geometry.page_count);
        for path in &self.from {
            let other = open(path, &self.buffer)?;
            let step = Step::start(&format!("merging {}", path.display()), pages);
            let mut done = 0;
            let merged = filter.merge_from(&other, &mut |now, _| {
                step.advance(now - done);
                done = now;
            });
            merged.map_err(explain)?;
        }
        if filter.is_full() {
            let (set, rate) = (self.set.display(), filter.estimated_fpr());
            eprintln!("springbloom: {set} is full: its false positive rate is {rate:.2e} now");
        }
        Ok(ExitCode::SUCCESS)
    }
}
