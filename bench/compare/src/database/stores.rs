//! The column families that a configuration is compared on.

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use rocksdb::checkpoint::Checkpoint;
use rocksdb::{ColumnFamily, ColumnFamilyDescriptor, DB, Options};
use serde::{Deserialize, Serialize};

/// How many families there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Layout {
    pub(crate) families: u32,
}

impl Default for Layout {
    fn default() -> Self {
        Layout { families: 1 }
    }
}

impl Layout {
    pub(crate) fn is_one(&self) -> bool {
        self.families == 1
    }
}

impl fmt::Display for Layout {
    /// Such as ` in 8 column families`; nothing for one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.families {
            1 => Ok(()),
            families => write!(f, " in {families} column families"),
        }
    }
}

/// An open database.
pub(crate) struct Stores {
    db: DB,
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
    /// Opens or makes the database at `path`, with options for each family.
    pub(crate) fn open(path: &Path, options: &[Options]) -> Result<Self> {
        Self::open_with(path, options, |options, families| DB::open_cf_descriptors(options, path, families))
    }

    /// Opens it for reading alone.
    pub(crate) fn open_for_read_only(path: &Path, layout: Layout, options: &Options) -> Result<Self> {
        let options = vec![options.clone(); layout.families as usize];
        Self::open_with(path, &options, |options, families| {
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
        let opened = open(options.first().context("a column family")?, families.collect());
        Ok(Self { db: opened.with_context(|| format!("cannot open {}", path.display()))?, names })
    }

    pub(crate) fn db(&self) -> &DB {
        &self.db
    }

    /// All families, in the order of their numbers.
    pub(crate) fn families(&self) -> Result<Vec<Family<'_>>> {
        let family = |name| {
            let handle = self.db.cf_handle(name).context("a column family that was opened")?;
            Ok(Family { db: &self.db, handle, name })
        };
        self.names.iter().map(String::as_str).map(family).collect()
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
        let stores = Stores::open(&folder.path().join("stores"), &vec![options.clone(); 3]).expect("open");
        for (number, Family { db, handle, .. }) in stores.families().expect("families").iter().enumerate() {
            db.put_cf(handle, "key", number.to_string()).expect("put");
        }
        let copy = folder.path().join("copy");
        stores.clone_to(&copy).expect("clone");
        let copied = Stores::open_for_read_only(&copy, Layout { families: 3 }, &options).expect("open");
        let families = copied.families().expect("families");
        let values = families.iter().map(|Family { db, handle, .. }| db.get_cf(handle, "key"));
        let values: Vec<_> = values.map(|value| value.expect("get").expect("a value")).collect();
        assert_eq!(values, [b"0", b"1", b"2"]);
    }
}
