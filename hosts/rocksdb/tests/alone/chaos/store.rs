//! One store of one side, and what it must answer: all that it acknowledged.

use std::path::{Path, PathBuf};

use rocksdb::{
    ColumnFamilyDescriptor, DB, DBIterator, Direction, Error, IteratorMode, Options, WaitForCompactOptions,
};

use crate::common::{model::Model, stock::verify_checksums};

/// What an operation came to; the error of RocksDB, or that the store is not open.
pub(crate) type Done = Result<(), String>;

const FAMILY: &str = "default";

/// Of a family that is named, because batches of lookups take its handle.
pub(crate) fn families(options: &Options) -> [ColumnFamilyDescriptor; 1] {
    [ColumnFamilyDescriptor::new(FAMILY, options.clone())]
}

pub(crate) struct Store {
    path: PathBuf,
    db: Option<DB>,
    model: Model,
}

impl Store {
    /// Makes a store, which is open then.
    pub(crate) fn create(options: &Options, path: PathBuf) -> Self {
        let mut options = options.clone();
        options.create_if_missing(true);
        let mut store = Self { path, db: None, model: Model::default() };
        store.open(&options).expect("a new store opens");
        store
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn model(&self) -> &Model {
        &self.model
    }

    pub(crate) fn db(&self) -> Result<&DB, String> {
        self.db.as_ref().ok_or_else(|| "not open".into())
    }

    pub(crate) fn open(&mut self, options: &Options) -> Done {
        if self.db.is_none() {
            self.db = Some(
                DB::open_cf_descriptors(options, &self.path, families(options))
                    .map_err(Error::into_string)?,
            );
        }
        Ok(())
    }

    pub(crate) fn close(&mut self) {
        self.db = None;
    }

    pub(crate) fn put(&mut self, key: &[u8], value: &[u8]) -> Done {
        done(self.db()?.put(key, value))?;
        self.model.put(key, value);
        Ok(())
    }

    pub(crate) fn delete(&mut self, key: &[u8]) -> Done {
        done(self.db()?.delete(key))?;
        self.model.delete(key);
        Ok(())
    }

    pub(crate) fn merge(&mut self, key: &[u8], operand: &[u8]) -> Done {
        done(self.db()?.merge(key, operand))?;
        self.model.merge(key, operand);
        Ok(())
    }

    pub(crate) fn flush(&self) -> Done {
        done(self.db()?.flush())
    }

    /// RocksDB's call gives no status in Rust. Background errors show when the store settles.
    pub(crate) fn compact(&self, from: &[u8], to: &[u8]) -> Done {
        self.db()?.compact_range(Some(from), Some(to));
        Ok(())
    }

    /// Waits until nothing runs in the background. Fails if something failed there and the store has to be opened again.
    pub(crate) fn settle(&self) -> Done {
        done(self.db()?.wait_for_compact(&WaitForCompactOptions::default()))
    }

    pub(crate) fn key_may_exist(&self, key: &[u8]) -> Done {
        let (may_exist, exists) = (self.db()?.key_may_exist(key), self.model.get(key).is_some());
        assert!(may_exist || !exists, "{}: {} is there", self.path.display(), key.escape_ascii());
        Ok(())
    }

    pub(crate) fn walk(&self, from: &[u8], steps: usize) -> Done {
        let mut walk = walk(self.db()?, from);
        let mut expected = self.model.between(from, None);
        for _ in 0..steps {
            let got = walk.next().transpose().map_err(Error::into_string)?;
            let got = got.as_ref().map(|(key, value)| (&key[..], &value[..]));
            assert_eq!(got, expected.next(), "{}: from {}", self.path.display(), from.escape_ascii());
            if got.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// Compares all entries, and reads every block of every table.
    pub(crate) fn verify(&self) {
        self.walk(b"", usize::MAX).expect("an iterator reads on");
        verify_checksums(self.db().expect("the store is open")).expect("checksums");
    }
}

/// All entries from a key on. No filter is asked.
pub(crate) fn walk<'db>(db: &'db DB, from: &[u8]) -> DBIterator<'db> {
    db.iterator(IteratorMode::From(from, Direction::Forward))
}

pub(crate) fn done(result: Result<(), Error>) -> Done {
    result.map_err(Error::into_string)
}

/// What lookups must answer.
pub(crate) enum Expected<'s> {
    Of(&'s Model),
    /// What the database's own iterators say.
    OfIterators,
    /// Whatever they answer is right.
    Unknown,
}

pub(crate) struct Lookups<'s> {
    pub(crate) path: &'s Path,
    pub(crate) db: &'s DB,
    pub(crate) expected: Expected<'s>,
}

impl Lookups<'_> {
    pub(crate) fn get(&self, key: &[u8]) -> Done {
        self.check(key, self.db.get_pinned(key))
    }

    pub(crate) fn multi_get(&self, keys: &[Vec<u8>]) -> Done {
        let got = self.db.multi_get(keys);
        all(keys.iter().zip(got).map(|(key, got)| self.check(key, got)))
    }

    pub(crate) fn batched_multi_get(&self, keys: &[Vec<u8>]) -> Done {
        let family = self.db.cf_handle(FAMILY).expect("the family is open");
        let got = self.db.batched_multi_get_cf(family, keys, false);
        all(keys.iter().zip(got).map(|(key, got)| self.check(key, got)))
    }

    fn check<V: AsRef<[u8]>>(&self, key: &[u8], got: Result<Option<V>, Error>) -> Done {
        let got = got.map_err(Error::into_string)?;
        let printable = |value: &[u8]| value.escape_ascii().to_string();
        let expected = match self.expected {
            Expected::Unknown => return Ok(()),
            Expected::Of(model) => model.get(key).map(printable),
            Expected::OfIterators => {
                let next = walk(self.db, key).next().transpose().map_err(Error::into_string)?;
                next.filter(|(found, _)| **found == *key).map(|(_, value)| printable(&value))
            }
        };
        let got = got.as_ref().map(|value| printable(value.as_ref()));
        assert_eq!(got, expected, "{}: {}", self.path.display(), key.escape_ascii());
        Ok(())
    }
}

/// The first failure, once all are made.
fn all(results: impl Iterator<Item = Done>) -> Done {
    let results: Vec<_> = results.collect();
    results.into_iter().collect()
}
