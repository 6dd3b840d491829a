//! The tables that a database lists on disk. Its comparator need not be known, and its write-ahead log is not read.

use std::{
    cmp::{Ordering, Reverse},
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{Error, ffi};

pub use ffi::ListedTable;

/// A comparator that is known without the program that made the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparator {
    /// Of bytes: RocksDB's `BytewiseComparator`.
    Bytewise,
    /// Its reverse: `ReverseBytewiseComparator`.
    ReverseBytewise,
}

impl Comparator {
    /// The one with this name; `None` for one that only its program has.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "leveldb.BytewiseComparator" => Some(Self::Bytewise),
            "rocksdb.ReverseBytewiseComparator" => Some(Self::ReverseBytewise),
            _ => None,
        }
    }

    /// Compares two user keys.
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Bytewise => a.cmp(b),
            Self::ReverseBytewise => b.cmp(a),
        }
    }
}

impl ListedTable {
    /// Whether a lookup of the key asks it, unless it ends before.
    pub fn spans(&self, key: &[u8], comparator: Comparator) -> bool {
        comparator.compare(&self.smallest, key).is_le() && comparator.compare(key, &self.largest).is_le()
    }

    /// Sorts by it as lookups ask tables: from the newest to the oldest.
    pub fn age(&self) -> impl Ord + use<> {
        (self.level, Reverse((self.epoch, self.newest_sequence, self.number)))
    }

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
            let last = tables.last();
            tables.push(ListedTable {
                column_family: shared(table.family.get(), last.map(|last| &last.column_family)),
                comparator: shared(table.comparator.get(), last.map(|last| &last.comparator)),
                smallest: table.smallest.get().into(),
                largest: table.largest.get().into(),
                level: table.level,
                number: table.number,
                epoch: table.epoch,
                newest_sequence: table.newest_sequence,
            });
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

/// The name; `last` if that is the same.
fn shared(name: &[u8], last: Option<&Arc<str>>) -> Arc<str> {
    let name = String::from_utf8_lossy(name);
    last.filter(|last| ***last == *name).map_or_else(|| Arc::from(&*name), Arc::clone)
}

/// More than any sound CURRENT has.
const CURRENT_BYTES: u64 = 64;

/// The MANIFEST in force: the file CURRENT has its name.
fn current_manifest(folder: &Path) -> Result<PathBuf, Error> {
    let path = folder.join("CURRENT");
    let mut content = Vec::new();
    let read = File::open(&path).and_then(|file| file.take(CURRENT_BYTES).read_to_end(&mut content));
    read.map_err(|source| Error::Io { path: path.clone(), source })?;
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
