//! Figures. The extension of the file selects the type: `.svg` or `.png`.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use crate::bad_input;

/// Draws with the backend for the file's extension.
pub fn draw_to(
    path: &Path,
    size: (u32, u32),
    svg: impl FnOnce(SVGBackend<'_>) -> Result<()>,
    png: impl FnOnce(BitMapBackend<'_>) -> Result<()>,
) -> Result<()> {
    match extension(path) {
        Some("svg") => svg(SVGBackend::new(path, size)),
        Some("png") => png(BitMapBackend::new(path, size)),
        _ => require_picture_name(path),
    }
}

/// Refuses other extensions and missing folders, before a long run.
pub fn require_picture_name(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match extension(path) {
        Some("svg" | "png") if folder.is_none_or(Path::is_dir) => Ok(()),
        Some("svg" | "png") => Err(bad_input(format!("{}: there is no such folder", path.display()))),
        _ => Err(bad_input(format!("{}: expected a name that ends in .svg or .png", path.display()))),
    }
}

fn extension(path: &Path) -> Option<&str> {
    path.extension().and_then(|extension| extension.to_str())
}

/// The error for a figure that cannot be drawn.
pub fn failed<E: std::error::Error>(error: E) -> anyhow::Error {
    anyhow!("cannot draw: {error}")
}
