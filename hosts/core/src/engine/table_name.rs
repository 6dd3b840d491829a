//! Names of table files: a number of at least six digits, and an extension of the engine's.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use super::description::Engine;

impl Engine {
    /// Folder and number of a table file; `None` for a name that the engine gives no new table of a database.
    pub fn folder_and_number<'a>(&self, path: &'a Path) -> Option<(&'a Path, u64)> {
        let number = path.file_stem()?.to_str()?.parse().ok()?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        (path.file_name()? == self.name_of(number).as_os_str()).then_some((folder, number))
    }

    /// The name of a new table file.
    pub fn name_of(&self, number: u64) -> PathBuf {
        name(number, self.table_extension.text())
    }

    /// Whether a table file with the number is in the folder.
    pub(crate) fn has_table(&self, folder: &Path, number: u64) -> bool {
        let extensions = [Some(self.table_extension), self.older_table_extension];
        extensions.into_iter().flatten().any(|extension| folder.join(name(number, extension.text())).exists())
    }
}

fn name(number: u64, extension: &OsStr) -> PathBuf {
    Path::new(&format!("{number:06}")).with_extension(extension)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::test_engine::TEST_ENGINE;

    #[test]
    fn tables_of_databases_are_told_from_other_files() {
        let place = |path: &str| {
            TEST_ENGINE.folder_and_number(Path::new(path)).map(|(folder, number)| (folder.to_owned(), number))
        };
        assert_eq!(place("/db/000012.sst"), Some(("/db".into(), 12)));
        assert_eq!(place("/db//1234567.sst"), Some(("/db".into(), 1_234_567)));
        assert_eq!(place("/000001.sst"), Some(("/".into(), 1)));
        assert_eq!(place("000007.sst"), Some((".".into(), 7)));
        for other in
            ["/db/new.sst", "/db/12.sst", "/db/+00012.sst", "/db/000012.ldb", "/db/000012.log", "/db/", ""]
        {
            assert_eq!(place(other), None, "{other}");
        }
    }
}
