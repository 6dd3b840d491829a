//! Files that are read and written whole.

use std::io::Write;
use std::path::Path;
use std::{fs, io};

use anyhow::Result;
use springbloom_console::bad_input;

/// Refuses what is at `path`, unless it is a regular file or nothing: a device or a pipe may have no end.
///
/// # Errors
/// A folder, a device, a pipe.
pub fn require_regular(path: &Path, expected: &str) -> Result<()> {
    match path.metadata() {
        Ok(found) if !found.is_file() => {
            Err(bad_input(format!("{} is not a regular file: expected {expected}", path.display())))
        }
        _ => Ok(()),
    }
}

/// Writes a file that is whole, or as it was, at any time: next to it, and then in its place. Its permissions stay. What is no file
/// (`/dev/stdout`) is written to.
///
/// # Errors
/// Those of the file system.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if path.exists() && !path.is_file() {
        return fs::write(path, bytes);
    }
    // Through a link, so that the link stays.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut part = path.clone().into_os_string();
    part.push(".part");
    let write = || -> io::Result<()> {
        let mode = fs::metadata(&path).ok().map(|there| there.permissions());
        let mut file = fs::File::create(&part)?;
        mode.map_or(Ok(()), |mode| file.set_permissions(mode))?;
        file.write_all(bytes)?;
        fs::rename(&part, &path)
    };
    let written = write();
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        for path in [Path::new("/dev/zero"), folder.path()] {
            let error = require_regular(path, "a record").expect_err("no file").to_string();
            assert_eq!(error, format!("{} is not a regular file: expected a record", path.display()));
        }
        let file = folder.path().join("file");
        require_regular(&file, "a record").expect("nothing is there");
        fs::write(&file, "").expect("a file");
        require_regular(&file, "a record").expect("a file");
    }

    #[test]
    fn a_file_is_whole_or_as_it_was() {
        let folder = tempfile::tempdir().expect("folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").expect("written");
        std::os::unix::fs::symlink(&file, &link).expect("link");
        for text in ["new", "newer"] {
            write_whole(&link, text.as_bytes()).expect("written");
            assert_eq!(fs::read_to_string(&file).expect("text"), text);
            assert!(link.is_symlink());
        }
        // What cannot be written next to it does not touch it.
        fs::create_dir(folder.path().join("file.part")).expect("in the way");
        write_whole(&file, b"newest").expect_err("in the way");
        assert_eq!(fs::read_to_string(&file).expect("text"), "newer");
    }
}
