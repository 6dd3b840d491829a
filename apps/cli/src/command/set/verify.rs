//! `springbloom set verify`: reads everything and says what is damaged.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::open::{BufferOptions, open};
use crate::progress::Step;

/// Read every page of a set and report damage
///
/// Damage never loses keys: a damaged sector answers "may be there", which costs accuracy. Exit code 1 if there is any.
#[derive(Args, Debug)]
pub(crate) struct Verify {
    /// Folder of the set
    set: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    buffer: BufferOptions,
}

impl Verify {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let filter = open(&self.set, &self.buffer)?;
        let pages =
            filter.info().layers.iter().map(|layer| u64::from(layer.header.geometry.page_count)).sum();
        let step = Step::start("verifying", pages);
        let mut done = 0;
        let report = filter.verify(&mut |now, _| {
            step.advance(now - done);
            done = now;
        });
        drop(step);
        if self.json {
            let layers: Vec<_> = report
                .layers
                .iter()
                .map(|layer| {
                    json!({
                        "file": layer.name,
                        "damaged_sectors": layer.damaged_sectors,
                        "lost_sectors": layer.saturated_sectors,
                        "unreadable_pages": layer.unreadable_pages,
                        "faulty_pages": layer.faulty_pages,
                        "fill": layer.fill,
                        "fpr": layer.fpr,
                    })
                })
                .collect();
            println!("{:#}", json!({ "is_sound": report.is_sound(), "filters": layers }));
        } else {
            for layer in &report.layers {
                println!(
                    "{}: {} damaged and {} lost sectors, {} unreadable pages; fill {:.4}, false positive rate {:.2e}",
                    layer.name,
                    layer.damaged_sectors,
                    layer.saturated_sectors,
                    layer.unreadable_pages,
                    layer.fill,
                    layer.fpr
                );
                if !layer.faulty_pages.is_empty() {
                    println!("  pages {:?}", layer.faulty_pages);
                }
            }
        }
        if report.is_sound() {
            return Ok(ExitCode::SUCCESS);
        }
        anyhow::bail!(
            "{} is damaged; no key is lost, but more absent keys are taken for present",
            self.set.display()
        )
    }
}
