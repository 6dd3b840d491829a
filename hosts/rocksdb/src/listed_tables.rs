//! The tables that a database lists on disk. Its comparator need not be known, and its write-ahead log is not read.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{Error, ffi};

pub use ffi::ListedTable;

impl ListedTable {
    /// Name of its file. The database says in which folder it is when it is opened, and writes that nowhere.
    pub fn file_name(&self) -> PathBuf {
        ffi::engine().name_of(self.number)
    }
}

/// The tables of the database in `folder`, which may be in use, by column family and number.
pub fn of_database(folder: &Path) -> Result<Vec<ListedTable>, Error> {
    let mut manifest = current_manifest(folder)?;
    loop {
        let mut tables: Vec<ListedTable> = Vec::new();
        let read = ffi::list_tables(&manifest, |table| {
            let family = String::from_utf8_lossy(table.family.get());
            let same = tables.last().map(|last| &last.column_family).filter(|last| ***last == *family);
            let column_family = same.map_or_else(|| Arc::from(&*family), Arc::clone);
            tables.push(ListedTable { column_family, level: table.level, number: table.number });
        });
        let Err(message) = read else { return Ok(tables) };
        // A process that writes begins a new MANIFEST now and then, and deletes the old one.
        let newer = current_manifest(folder)?;
        if newer == manifest {
            return Err(Error::Table { path: manifest, message });
        }
        manifest = newer;
    }
}

/// The MANIFEST in force: the file CURRENT has its name.
fn current_manifest(folder: &Path) -> Result<PathBuf, Error> {
    let path = folder.join("CURRENT");
    let content = fs::read(&path).map_err(|source| Error::Io { path: path.clone(), source })?;
    let content = String::from_utf8_lossy(&content);
    let number = content.strip_suffix('\n').and_then(|name| name.strip_prefix("MANIFEST-"));
    match number.filter(|number| number.bytes().all(|byte| byte.is_ascii_digit())) {
        Some(number) => Ok(folder.join(format!("MANIFEST-{number}"))),
        None => {
            let start: String = content.chars().take(40).collect();
            Err(Error::Table {
                path,
                message: format!("got {start:?}, expected the name of a MANIFEST and a line's end"),
            })
        }
    }
}
