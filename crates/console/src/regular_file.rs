//! Files that are read whole. What else has a name may have no end: a device, a pipe.

use std::path::Path;

use anyhow::Result;

use crate::bad_input;

/// Refuses what is at `path`, unless it is a regular file or nothing.
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
        std::fs::write(&file, "").expect("a file");
        require_regular(&file, "a record").expect("a file");
    }
}
