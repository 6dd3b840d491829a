//! `springflash set info`: the settings of a set and how full it is.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use springbloom_console::output;
use springbloom_console::sizes::Size;
use springbloom_flash_filter::{FilterInfo, LayerInfo};

use super::open::MemoryOptions;
use crate::opening::SET;

/// Show the settings of a set and how full it is
#[derive(Args, Debug)]
pub(crate) struct Info {
    /// Folder of the set
    set: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    memory: MemoryOptions,
}

impl Info {
    pub(super) fn run(&self) -> Result<()> {
        let filter = SET.open_to_read(&self.set, self.memory.settings()?)?;
        let (info, is_full) = (filter.info(), filter.is_full());
        if self.json {
            output::json(&document(&info, is_full))
        } else {
            output::report(|out| print(&info, is_full, out))
        }
    }
}

fn print(info: &FilterInfo, is_full: bool, out: &mut impl Write) -> Result<()> {
    for layer in &info.layers {
        let (header, geometry) = (layer.header, layer.header.geometry);
        writeln!(
            out,
            "filter {}: {:?}, {} pages of {}, {} bits per key set, {} for {} keys",
            header.layer,
            geometry.layout,
            geometry.page_count,
            Size { bytes: geometry.page_bytes.into() },
            geometry.probes,
            Size { bytes: header.file_bytes() },
            header.capacity_keys,
        )?;
        writeln!(
            out,
            "  holds about {:.0} keys ({:.1}%), false positive rate {:.2e} (built for {:.2e})",
            layer.estimated_keys,
            100.0 * layer.estimated_keys / header.capacity_keys as f64,
            layer.estimated_fpr,
            header.fpr
        )?;
    }
    writeln!(
        out,
        "insertions: {} ({} updates left in the log for `add` or `check` to recover)\nmemory: {}\nfalse positive rate: {:.2e}{}",
        info.insertions,
        info.pending_updates,
        Size { bytes: info.memory_bytes },
        info.estimated_fpr,
        if is_full { " (full)" } else { "" }
    )?;
    Ok(())
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
