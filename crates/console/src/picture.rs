//! Figures. The extension of the file selects the type: `.svg` or `.png`.

use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use plotters::prelude::*;

use crate::{bad_input, output, require_replaceable};

/// Draws with the backend for the file's extension.
///
/// # Errors
/// Another extension, a file that cannot be written.
pub fn draw_to(
    path: &Path,
    size: (u32, u32),
    svg: impl FnOnce(SVGBackend<'_>) -> Result<()>,
    png: impl FnOnce(BitMapBackend<'_>) -> Result<()>,
) -> Result<()> {
    let unwritable = || format!("cannot write {}", path.display());
    match extension(path) {
        Some("svg") => {
            let mut text = String::new();
            svg(SVGBackend::with_string(&mut text, size))?;
            output::write_whole(path, text.as_bytes()).with_context(unwritable)
        }
        Some("png") => {
            // The backend tells the type by the extension, and does not say why it cannot write.
            let part = path.with_extension("part.png");
            File::create(&part).with_context(unwritable)?;
            let drawn = png(BitMapBackend::new(&part, size)).and_then(|()| Ok(fs::read(&part)?));
            let written = drawn.and_then(|bytes| Ok(output::write_whole(path, &bytes)?));
            _ = fs::remove_file(&part);
            written.with_context(unwritable)
        }
        _ => require_picture_name(path),
    }
}

/// Refuses other extensions, missing folders and what is no file, before a long run.
///
/// # Errors
/// What is wrong with the name.
pub fn require_picture_name(path: &Path) -> Result<()> {
    let wrong = |what: &str| Err(bad_input(format!("{}: {what}", path.display())));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match extension(&output::written_at(path)) {
        Some("svg" | "png") if !folder.is_none_or(Path::is_dir) => wrong("there is no such folder"),
        Some("svg" | "png") if path.is_dir() => wrong("expected a file, and it is a folder"),
        Some("svg" | "png") => {
            require_replaceable(path, "a picture")?;
            if path.exists() {
                File::options()
                    .append(true)
                    .open(path)
                    .with_context(|| format!("cannot write {}", path.display()))?;
            }
            Ok(())
        }
        _ => wrong("expected a name that ends in .svg or .png"),
    }
}

fn extension(path: &Path) -> Option<&str> {
    path.extension().and_then(|extension| extension.to_str())
}

/// The error for a figure that cannot be drawn.
pub fn failed<E: std::error::Error>(error: E) -> anyhow::Error {
    anyhow!("cannot draw: {error}")
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn draw(path: &Path) -> Result<()> {
        let size = (10, 10);
        draw_to(
            path,
            size,
            |backend| backend.into_drawing_area().present().map_err(failed),
            |backend| backend.into_drawing_area().present().map_err(failed),
        )
    }

    #[test]
    fn names_that_cannot_be_drawn_to_are_refused_before_and_after() {
        let folder = tempfile::tempdir().expect("a folder");
        for extension in ["svg", "png"] {
            let name = format!("x.{extension}");
            let file = folder.path().join(&name);
            require_picture_name(&file).expect("a new file");
            draw(&file).expect("drawn");
            let whole = fs::read(&file).expect("a picture");
            let drawn = draw_to(&file, (10, 10), |_| Err(anyhow!("no")), |_| Err(anyhow!("no")));
            assert!(drawn.is_err() && fs::read(&file).expect("a picture") == whole, "as it was");
            require_picture_name(&file).expect("it may be written again");
            let missing = folder.path().join("missing").join(&name);
            assert!(
                require_picture_name(&missing).expect_err("no folder").to_string().contains("no such folder")
            );
            let kind =
                draw(&missing).expect_err("no folder").downcast_ref::<io::Error>().map(io::Error::kind);
            assert_eq!(kind, Some(io::ErrorKind::NotFound));
            let is_folder = folder.path().join(format!("folder.{extension}"));
            std::fs::create_dir(&is_folder).expect("a folder");
            assert!(
                require_picture_name(&is_folder)
                    .expect_err("a folder")
                    .to_string()
                    .contains("it is a folder")
            );
        }
        assert!(require_picture_name(Path::new("x.gif")).is_err());
        // What it leads to is no picture.
        let (link, text) = (folder.path().join("link.svg"), folder.path().join("text"));
        fs::write(&text, "text").expect("a file");
        std::os::unix::fs::symlink(&text, &link).expect("a link");
        assert!(require_picture_name(&link).is_err());
        let parts = fs::read_dir(folder.path()).expect("the folder").filter(|entry| {
            entry.as_ref().is_ok_and(|entry| entry.file_name().to_string_lossy().contains("part"))
        });
        assert_eq!(parts.count(), 0);
    }
}
