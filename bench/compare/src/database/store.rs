//! The column families that a configuration is compared on: those of one database, or one in each of several databases.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rocksdb::checkpoint::Checkpoint;
use rocksdb::{ColumnFamily, ColumnFamilyDescriptor, DB, Options};

/// Open databases.
pub(crate) struct Store {
    pub(crate) databases: Vec<DB>,
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

/// The folder of the first database is `path`; those of the others are in it.
pub(crate) fn folder(path: &Path, database: usize) -> PathBuf {
    if database == 0 { path.to_owned() } else { path.join(format!("database{database}")) }
}

impl Store {
    /// Opens what is at `path`, with options for each family. `apart`: each has a database of its own.
    pub(crate) fn open(path: &Path, apart: bool, options: &[Options]) -> Result<Self> {
        Self::open_with(path, apart, options, DB::open_cf_descriptors)
    }

    /// Opens it for reading alone.
    pub(crate) fn open_for_read_only(path: &Path, apart: bool, options: &[Options]) -> Result<Self> {
        Self::open_with(path, apart, options, |options, folder, families| {
            DB::open_cf_descriptors_read_only(options, folder, families, false)
        })
    }

    fn open_with(
        path: &Path,
        apart: bool,
        options: &[Options],
        open: impl Fn(&Options, PathBuf, Vec<ColumnFamilyDescriptor>) -> Result<DB, rocksdb::Error>,
    ) -> Result<Self> {
        let name = |family| if family == 0 { "default".to_owned() } else { format!("family{family}") };
        let names: Vec<String> = (0..if apart { 1 } else { options.len() }).map(name).collect();
        let open = |(database, options): (usize, &[Options])| {
            let named = names.iter().zip(options);
            let families = named.map(|(name, options)| ColumnFamilyDescriptor::new(name, options.clone()));
            let folder = folder(path, database);
            let opened = open(&options[0], folder.clone(), families.collect());
            opened.with_context(|| format!("cannot open {}", folder.display()))
        };
        let databases = options.chunks(names.len()).enumerate().map(open).collect::<Result<_>>()?;
        Ok(Self { databases, names })
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
        for (database, db) in self.databases.iter().enumerate() {
            Checkpoint::new(db)
                .and_then(|checkpoint| checkpoint.create_checkpoint(folder(to, database)))
                .with_context(|| format!("cannot make {}", to.display()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_apart_in_one_database_and_in_several() {
        for apart in [false, true] {
            let folder = tempfile::tempdir().expect("folder");
            let mut options = Options::default();
            options.create_if_missing(true);
            options.create_missing_column_families(true);
            let options = vec![options; 3];
            let store = Store::open(&folder.path().join("store"), apart, &options).expect("open");
            for (number, family) in store.families().expect("families").iter().enumerate() {
                family.db.put_cf(family.handle, "key", number.to_string()).expect("put");
            }
            let copy = folder.path().join("copy");
            store.clone_to(&copy).expect("clone");
            let copied = Store::open_for_read_only(&copy, apart, &options).expect("open");
            assert_eq!(copied.databases.len(), if apart { 3 } else { 1 });
            let families = copied.families().expect("families");
            let values = families.iter().map(|Family { db, handle, .. }| db.get_cf(handle, "key"));
            let values: Vec<_> = values.map(|value| value.expect("get").expect("a value")).collect();
            assert_eq!(values, [b"0", b"1", b"2"]);
        }
    }
}
