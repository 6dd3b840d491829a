//! The database that a configuration is compared on, with its column families.

use std::path::Path;

use anyhow::{Context, Result};
use rocksdb::checkpoint::Checkpoint;
use rocksdb::{ColumnFamily, ColumnFamilyDescriptor, DB, Options};

/// An open database.
pub(crate) struct Store {
    pub(crate) db: DB,
    /// Of its families.
    names: Vec<String>,
}

/// One of the families.
#[derive(Clone, Copy)]
pub(crate) struct Family<'a> {
    pub(crate) db: &'a DB,
    pub(crate) handle: &'a ColumnFamily,
    pub(crate) name: &'a str,
}

impl Store {
    /// Opens what is at `path`, with options for each family.
    pub(crate) fn open(path: &Path, options: &[Options]) -> Result<Self> {
        Self::open_with(path, options, |options, families| DB::open_cf_descriptors(options, path, families))
    }

    /// Opens it for reading alone.
    pub(crate) fn open_for_read_only(path: &Path, families: u32, options: &Options) -> Result<Self> {
        Self::open_with(path, &vec![options.clone(); families as usize], |options, families| {
            DB::open_cf_descriptors_read_only(options, path, families, false)
        })
    }

    fn open_with(
        path: &Path,
        options: &[Options],
        open: impl Fn(&Options, Vec<ColumnFamilyDescriptor>) -> Result<DB, rocksdb::Error>,
    ) -> Result<Self> {
        let name = |family| if family == 0 { "default".to_owned() } else { format!("family{family}") };
        let names: Vec<String> = (0..options.len()).map(name).collect();
        let named = names.iter().zip(options);
        let families = named.map(|(name, options)| ColumnFamilyDescriptor::new(name, options.clone()));
        let opened = open(&options[0], families.collect());
        Ok(Self { db: opened.with_context(|| format!("cannot open {}", path.display()))?, names })
    }

    /// All families, in the order of their numbers.
    pub(crate) fn families(&self) -> Result<Vec<Family<'_>>> {
        let family = |name| {
            let handle = self.db.cf_handle(name).context("a column family that was opened")?;
            Ok(Family { db: &self.db, handle, name })
        };
        self.names.iter().map(|name| family(name)).collect()
    }

    /// Makes a database at `to` with the same tables, by hard links.
    pub(crate) fn clone_to(&self, to: &Path) -> Result<()> {
        Checkpoint::new(&self.db)
            .and_then(|checkpoint| checkpoint.create_checkpoint(to))
            .with_context(|| format!("cannot make {}", to.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_apart() {
        let folder = tempfile::tempdir().expect("folder");
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        let store = Store::open(&folder.path().join("store"), &vec![options.clone(); 3]).expect("open");
        for (number, Family { db, handle, .. }) in store.families().expect("families").iter().enumerate() {
            db.put_cf(handle, "key", number.to_string()).expect("put");
        }
        let copy = folder.path().join("copy");
        store.clone_to(&copy).expect("clone");
        let copied = Store::open_for_read_only(&copy, 3, &options).expect("open");
        let families = copied.families().expect("families");
        let values = families.iter().map(|Family { db, handle, .. }| db.get_cf(handle, "key"));
        let values: Vec<_> = values.map(|value| value.expect("get").expect("a value")).collect();
        assert_eq!(values, [b"0", b"1", b"2"]);
    }
}
