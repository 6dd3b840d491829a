//! The column families that a configuration is compared on: one, several of one database, or one in each of several databases.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use rocksdb::checkpoint::Checkpoint;
use rocksdb::{ColumnFamily, ColumnFamilyDescriptor, DB, Options};
use serde::{Deserialize, Serialize};

/// How many families there are, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Layout {
    pub(crate) families: u32,
    /// Each is the only one of a database.
    pub(crate) are_databases: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Self::ONE
    }
}

impl Layout {
    /// One family of one database.
    pub(crate) const ONE: Layout = Layout { families: 1, are_databases: false };

    pub(crate) fn is_one(&self) -> bool {
        *self == Self::ONE
    }

    /// The folders of the databases at `path`.
    pub(crate) fn folders(self, path: &Path) -> Vec<PathBuf> {
        match self.are_databases {
            true => (0..self.families).map(|database| path.join(database.to_string())).collect(),
            false => vec![path.to_owned()],
        }
    }

    /// Makes the folder that several databases are in.
    fn make_parent(self, path: &Path) -> Result<()> {
        if self.are_databases {
            fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))?;
        }
        Ok(())
    }

    /// Records of all families, each of which has so many.
    pub(crate) fn all(self, records: u64) -> u64 {
        records * u64::from(self.families)
    }

    /// The column families of each database.
    fn names(self) -> Vec<String> {
        let families = if self.are_databases { 1 } else { self.families };
        let name = |family| if family == 0 { "default".to_owned() } else { format!("family{family}") };
        (0..families).map(name).collect()
    }
}

impl fmt::Display for Layout {
    /// Such as ` in 8 column families`; nothing for one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layout { families: 1, .. } => Ok(()),
            Layout { families, are_databases: true } => write!(f, " in {families} databases"),
            Layout { families, are_databases: false } => write!(f, " in {families} column families"),
        }
    }
}

/// Open databases.
pub(crate) struct Stores {
    layout: Layout,
    databases: Vec<DB>,
    names: Vec<String>,
}

/// One of the families.
#[derive(Clone, Copy)]
pub(crate) struct Family<'a> {
    pub(crate) db: &'a DB,
    pub(crate) handle: &'a ColumnFamily,
    pub(crate) name: &'a str,
}

impl Stores {
    /// Opens what is at `path`, with options for each family.
    pub(crate) fn open(path: &Path, layout: Layout, options: &[Options]) -> Result<Self> {
        Self::open_each(path, layout, options, |options, folder, families| {
            DB::open_cf_descriptors(options, folder, families)
        })
    }

    /// Makes databases at `path`.
    pub(crate) fn create(path: &Path, layout: Layout, options: &[Options]) -> Result<Self> {
        layout.make_parent(path)?;
        Self::open(path, layout, options)
    }

    /// The same for reading alone.
    pub(crate) fn open_for_read_only(path: &Path, layout: Layout, options: &Options) -> Result<Self> {
        let options = vec![options.clone(); layout.families as usize];
        Self::open_each(path, layout, &options, |options, folder, families| {
            DB::open_cf_descriptors_read_only(options, folder, families, false)
        })
    }

    fn open_each(
        path: &Path,
        layout: Layout,
        options: &[Options],
        open: impl Fn(&Options, &Path, Vec<ColumnFamilyDescriptor>) -> Result<DB, rocksdb::Error>,
    ) -> Result<Self> {
        ensure!(options.len() == layout.families as usize, "options of {} families", options.len());
        let (folders, names) = (layout.folders(path), layout.names());
        let mut options = options.chunks(names.len());
        let open = |folder: &PathBuf| {
            let options = options.next().context("options")?;
            let named = names.iter().zip(options);
            let families = named.map(|(name, options)| ColumnFamilyDescriptor::new(name, options.clone()));
            let opened = open(&options[0], folder, families.collect());
            opened.with_context(|| format!("cannot open {}", folder.display()))
        };
        let databases = folders.iter().map(open).collect::<Result<_>>()?;
        Ok(Self { layout, databases, names })
    }

    /// The databases.
    pub(crate) fn databases(&self) -> &[DB] {
        &self.databases
    }

    /// All families, in the order of their numbers.
    pub(crate) fn families<'a>(&'a self) -> Result<Vec<Family<'a>>> {
        let of_database = |db: &'a DB| {
            self.names.iter().map(move |name| {
                let handle = db.cf_handle(name).context("a column family that was opened")?;
                Ok(Family { db, handle, name })
            })
        };
        self.databases.iter().flat_map(of_database).collect()
    }

    /// Makes databases at `to` with the tables of these, by hard links.
    pub(crate) fn clone_to(&self, to: &Path) -> Result<()> {
        self.layout.make_parent(to)?;
        for (db, folder) in self.databases.iter().zip(self.layout.folders(to)) {
            Checkpoint::new(db)
                .and_then(|checkpoint| checkpoint.create_checkpoint(&folder))
                .with_context(|| format!("cannot make {}", folder.display()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_apart_in_one_database_and_in_several() {
        for are_databases in [false, true] {
            let folder = tempfile::tempdir().expect("folder");
            let path = folder.path().join("stores");
            let layout = Layout { families: 3, are_databases };
            let mut options = Options::default();
            options.create_if_missing(true);
            options.create_missing_column_families(true);
            let stores = Stores::create(&path, layout, &vec![options.clone(); 3]).expect("open");
            for (number, Family { db, handle, .. }) in stores.families().expect("families").iter().enumerate()
            {
                db.put_cf(handle, "key", number.to_string()).expect("put");
            }
            let copy = folder.path().join("copy");
            stores.clone_to(&copy).expect("clone");
            let copied = Stores::open_for_read_only(&copy, layout, &options).expect("open");
            let families = copied.families().expect("families");
            let values = families.iter().map(|Family { db, handle, .. }| db.get_cf(handle, "key"));
            let values: Vec<_> = values.map(|value| value.expect("get").expect("a value")).collect();
            assert_eq!(values, [b"0", b"1", b"2"]);
            assert_eq!(copied.databases().len(), if are_databases { 3 } else { 1 });
        }
    }
}
