//! `springbloom set info`: what a set is and how full.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use springbloom_flash::{FilterInfo, LayerInfo};

use super::open::{BufferOptions, open};
use crate::sizes::Size;

/// Show what a set is built for and how full it is
#[derive(Args, Debug)]
pub(crate) struct Info {
    /// Folder of the set
    set: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    buffer: BufferOptions,
}

impl Info {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let filter = open(&self.set, &self.buffer)?;
        let info = filter.info();
        if self.json {
            println!("{:#}", document(&info, filter.is_full()));
            return Ok(ExitCode::SUCCESS);
        }
        for layer in &info.layers {
            let (header, geometry) = (layer.header, layer.header.geometry);
            println!(
                "filter {}: {:?}, {} pages of {}, {} bits per key set, {} for {} keys",
                header.layer,
                geometry.layout,
                geometry.page_count,
                Size { bytes: geometry.page_bytes.into() },
                geometry.probes,
                Size { bytes: header.file_bytes() },
                header.capacity_keys,
            );
            println!(
                "  holds about {:.0} keys ({:.1}%), false positive rate {:.2e} (built for {:.2e})",
                layer.estimated_keys,
                100.0 * layer.estimated_keys / header.capacity_keys as f64,
                layer.estimated_fpr,
                header.fpr
            );
        }
        println!(
            "insertions: {} ({} updates wait to be written to their pages)\nmemory: {}\nfalse positive rate: {:.2e}{}",
            info.insertions,
            info.pending_updates,
            Size { bytes: info.memory_bytes },
            info.estimated_fpr,
            if filter.is_full() { " (full)" } else { "" }
        );
        Ok(ExitCode::SUCCESS)
    }
}

fn document(info: &FilterInfo, is_full: bool) -> Value {
    json!({
        "insertions": info.insertions,
        "pending_updates": info.pending_updates,
        "memory_bytes": info.memory_bytes,
        "estimated_fpr": info.estimated_fpr,
        "is_full": is_full,
        "filters": info.layers.iter().map(layer).collect::<Vec<_>>(),
    })
}

fn layer(layer: &LayerInfo) -> Value {
    let (header, geometry) = (layer.header, layer.header.geometry);
    json!({
        "layout": format!("{:?}", geometry.layout),
        "page_bytes": geometry.page_bytes,
        "page_count": geometry.page_count,
        "probes": geometry.probes,
        "file_bytes": header.file_bytes(),
        "capacity_keys": header.capacity_keys,
        "built_for_fpr": header.fpr,
        "grows": header.grows,
        "is_logged": header.is_logged,
        "estimated_keys": layer.estimated_keys,
        "estimated_fpr": layer.estimated_fpr,
    })
}
