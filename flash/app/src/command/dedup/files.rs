//! The sources of a scan: files, each once, and a stream.

use std::fs::{File, Metadata};
use std::io::{self, Stdin};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The name of standard input.
pub(super) const STREAM: &str = "-";

/// Identity of a file, independent of its name: device and inode.
pub(super) type FileId = (u64, u64);

pub(super) fn id_of(metadata: &Metadata) -> FileId {
    (metadata.dev(), metadata.ino())
}

/// One file, or a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    /// Length in bytes. 0 for a pipe.
    pub(super) len_bytes: u64,
    /// `None` for a pipe, which has no identity.
    pub(super) id: Option<FileId>,
    pub(super) link_count: u64,
    /// Seconds and nanoseconds.
    pub(super) modified: (i64, i64),
}

/// A source that is being read.
pub(super) enum Opened {
    Pipe(Stdin),
    File(File),
}

impl Source {
    pub(super) fn file(path: PathBuf, metadata: &Metadata) -> Source {
        Source {
            path,
            len_bytes: metadata.len(),
            id: Some(id_of(metadata)),
            link_count: metadata.nlink(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    /// Standard input, which may be a file.
    pub(super) fn stream() -> Source {
        let pipe = Source { path: STREAM.into(), len_bytes: 0, id: None, link_count: 1, modified: (0, 0) };
        let file = io::stdin().as_fd().try_clone_to_owned().map(File::from);
        match file.and_then(|file| file.metadata()) {
            Ok(metadata) if metadata.is_file() => {
                Source { link_count: 1, ..Source::file(STREAM.into(), &metadata) }
            }
            _ => pipe,
        }
    }

    pub(super) fn open(&self) -> io::Result<Opened> {
        if self.is_pipe() {
            return Ok(Opened::Pipe(io::stdin()));
        }
        if self.is_stream() {
            return Ok(Opened::File(io::stdin().as_fd().try_clone_to_owned()?.into()));
        }
        Ok(Opened::File(File::open(&self.path)?))
    }

    pub(super) fn is_stream(&self) -> bool {
        self.path == Path::new(STREAM)
    }

    /// A stream without identity.
    pub(super) fn is_pipe(&self) -> bool {
        self.id.is_none()
    }

    /// Its name for messages.
    pub(super) fn name(&self) -> String {
        if self.is_stream() { "standard input".to_owned() } else { self.path.to_string_lossy().into_owned() }
    }

    /// The type of the file: its extension in lower case.
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

/// A digest of names, lengths and times. A scan resumes only if it is unchanged.
pub(super) fn digest(sources: &[Source]) -> String {
    let mut hasher = blake3::Hasher::new();
    for source in sources {
        hasher.update(source.path.as_os_str().as_encoded_bytes());
        hasher.update(&[0]);
        let (id, modified) = (source.id.unwrap_or_default(), source.modified);
        for number in [source.len_bytes, id.0, id.1, modified.0 as u64, modified.1 as u64] {
            hasher.update(&number.to_le_bytes());
        }
    }
    hasher.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_extensions_and_names_are_safe_to_print() {
        let file = |name: &str| Source { path: name.into(), ..Source::stream() };
        for (name, kind) in
            [("a/b.TXT", "txt"), (".hidden", "(none)"), ("c.not-a-kind", "(none)"), ("-", "(stream)")]
        {
            assert_eq!(file(name).kind(), kind);
        }
    }
}
