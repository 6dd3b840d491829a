//! What is scanned: files found by walking, in an order that is the same every time, or a stream.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ignore::WalkBuilder;

/// Stands for standard input.
const STREAM: &str = "-";

/// One file, or a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    /// 0 for a stream: nobody knows.
    pub(super) len_bytes: u64,
    modified_s: i64,
}

impl Source {
    pub(super) fn open(&self) -> io::Result<Box<dyn Read>> {
        if self.is_stream() {
            return Ok(Box::new(io::stdin()));
        }
        Ok(Box::new(File::open(&self.path)?))
    }

    pub(super) fn is_stream(&self) -> bool {
        self.path == Path::new(STREAM)
    }

    /// What kind of file it is, by its name: the extension in lower case.
    pub(super) fn kind(&self) -> String {
        let extension = self.path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        match extension {
            _ if self.is_stream() => "(stream)".to_owned(),
            // Longer ones are not extensions but parts of names.
            Some(extension) if extension.len() <= 8 => extension,
            _ => "(none)".to_owned(),
        }
    }
}

/// All regular files below `paths`, once each, in the order of their names; hidden ones too, links not followed. What cannot be
/// entered is warned about and left out.
pub(super) fn sources(paths: &[PathBuf]) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for path in paths {
        if path == Path::new(STREAM) {
            sources.push(Source { path: path.clone(), len_bytes: 0, modified_s: 0 });
            continue;
        }
        path.metadata().with_context(|| format!("cannot read {}", path.display()))?;
        for entry in WalkBuilder::new(path).standard_filters(false).build() {
            match entry.and_then(|entry| entry.metadata().map(|metadata| (entry, metadata))) {
                Ok((entry, metadata)) if metadata.is_file() => sources.push(Source {
                    path: entry.into_path(),
                    len_bytes: metadata.len(),
                    modified_s: metadata.mtime(),
                }),
                Ok(_) => {}
                Err(e) => eprintln!("springbloom: {e}"),
            }
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources.dedup_by(|a, b| a.path == b.path);
    Ok(sources)
}

/// A digest of names, lengths and times: a scan goes on only over the very same files.
pub(super) fn digest(sources: &[Source]) -> String {
    let mut hasher = blake3::Hasher::new();
    for source in sources {
        hasher.update(source.path.as_os_str().as_encoded_bytes());
        hasher.update(&[0]);
        hasher.update(&source.len_bytes.to_le_bytes());
        hasher.update(&source.modified_s.to_le_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_in_order_and_once_and_changes_show() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        file("b.TXT", "bb");
        file("sub/a.rs", "a");
        file(".hidden", "h");
        let paths = [dir.path().to_owned(), dir.path().join("sub")];
        let found = sources(&paths).unwrap();
        let names: Vec<_> = found.iter().map(|s| s.path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, [".hidden", "b.TXT", "a.rs"]);
        assert_eq!(found.iter().map(Source::kind).collect::<Vec<_>>(), ["(none)", "txt", "rs"]);
        let before = digest(&found);
        assert_eq!(before, digest(&sources(&paths).unwrap()));
        file("b.TXT", "longer");
        assert_ne!(before, digest(&sources(&paths).unwrap()));
        assert!(sources(&[dir.path().join("missing")]).is_err());
    }
}
