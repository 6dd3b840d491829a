//! The column families that a configuration is compared on: those of one database, or one in each of several databases.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
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
        Layout { families: 1, are_databases: false }
    }
}

impl Layout {
    pub(crate) fn is_one(&self) -> bool {
        self.families == 1
    }

    /// The folders of the databases at `path`.
    pub(crate) fn folders(self, path: &Path) -> Vec<PathBuf> {
        match self.are_databases {
            true => (0..self.families).map(|database| path.join(database.to_string())).collect(),
            false => vec![path.to_owned()],
        }
    }

    /// Makes the folder that several databases are in.
    pub(crate) fn make_parent(self, path: &Path) -> Result<()> {
        if self.are_databases {
            fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))?;
        }
        Ok(())
    }
}

impl fmt::Display for Layout {
    /// Such as ` in 8 column families`; nothing for one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.families {
            1 => Ok(()),
            families if self.are_databases => write!(f, " in {families} databases"),
            families => write!(f, " in {families} column families"),
        }
    }
}

/// Open databases.
pub(crate) struct Stores {
    layout: Layout,
    databases: Vec<DB>,
    /// Of the families of each database.
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
        Self::open_with(path, layout, options, DB::open_cf_descriptors)
    }

    /// Opens it for reading alone.
    pub(crate) fn open_for_read_only(path: &Path, layout: Layout, options: &Options) -> Result<Self> {
        let options = vec![options.clone(); layout.families as usize];
        Self::open_with(path, layout, &options, |options, folder, families| {
            DB::open_cf_descriptors_read_only(options, folder, families, false)
        })
    }

    fn open_with(
        path: &Path,
        layout: Layout,
        options: &[Options],
        open: impl Fn(&Options, PathBuf, Vec<ColumnFamilyDescriptor>) -> Result<DB, rocksdb::Error>,
    ) -> Result<Self> {
        let folders = layout.folders(path);
        let name = |family| if family == 0 { "default".to_owned() } else { format!("family{family}") };
        let names: Vec<String> = (0..options.len() / folders.len()).map(name).collect();
        let open = |(folder, options): (PathBuf, &[Options])| {
            let named = names.iter().zip(options);
            let families = named.map(|(name, options)| ColumnFamilyDescriptor::new(name, options.clone()));
            let opened = open(&options[0], folder.clone(), families.collect());
            opened.with_context(|| format!("cannot open {}", folder.display()))
        };
        let databases = folders.into_iter().zip(options.chunks(names.len())).map(open);
        Ok(Self { layout, databases: databases.collect::<Result<_>>()?, names })
    }

    /// The databases, in the order of their folders.
    pub(crate) fn databases(&self) -> &[DB] {
        &self.databases
    }

    /// All families, in the order of their numbers.
    pub(crate) fn families(&self) -> Result<Vec<Family<'_>>> {
        let all = self.databases.iter().flat_map(|db| self.names.iter().map(move |name| (db, name.as_str())));
        let family = |(db, name)| {
            let handle = DB::cf_handle(db, name).context("a column family that was opened")?;
            Ok(Family { db, handle, name })
        };
        all.map(family).collect()
    }

    /// Makes databases at `to` with the same tables, by hard links.
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
            layout.make_parent(&path).expect("folder");
            let stores = Stores::open(&path, layout, &vec![options.clone(); 3]).expect("open");
            let families = stores.families().expect("families");
            for (number, Family { db, handle, .. }) in families.iter().enumerate() {
                db.put_cf(handle, "key", number.to_string()).expect("put");
            }
            let copy = folder.path().join("copy");
            stores.clone_to(&copy).expect("clone");
            let copied = Stores::open_for_read_only(&copy, layout, &options).expect("open");
            assert_eq!(copied.databases().len(), if are_databases { 3 } else { 1 });
            let families = copied.families().expect("families");
            let values = families.iter().map(|Family { db, handle, .. }| db.get_cf(handle, "key"));
            let values: Vec<_> = values.map(|value| value.expect("get").expect("a value")).collect();
            assert_eq!(values, [b"0", b"1", b"2"]);
        }
    }
}
