//! A secondary instance of a store. RocksDB's can stay behind its primary after faults, with stock filters too: so its lookups are compared
//! with its own iterators, which ask no filter. And it may keep in memory what it took from the log, and find that in lookups before newer
//! entries of tables, where the primary was flushed meanwhile, with stock filters too: so the primary is flushed before it follows. During
//! a fault it is not, and then lookups are not compared.

use std::path::PathBuf;

use rocksdb::{DB, Options};

use super::store::{Done, Expected, Lookups, Store, done, families, walk};

pub(crate) struct Secondary {
    path: PathBuf,
    /// With all tables open: its primary deletes those that it compacted.
    options: Options,
    db: Option<DB>,
    caught_up_during_a_fault: bool,
}

impl Secondary {
    pub(crate) fn new(options: &Options, path: PathBuf) -> Self {
        let mut options = options.clone();
        options.set_max_open_files(-1);
        Self { path, options, db: None, caught_up_during_a_fault: false }
    }

    pub(crate) fn lookups(&self) -> Result<Lookups<'_>, String> {
        let db = self.db.as_ref().ok_or("not open")?;
        let expected = match self.caught_up_during_a_fault {
            true => Expected::Unknown,
            false => Expected::OfIterators,
        };
        Ok(Lookups { path: &self.path, db, expected })
    }

    /// Without a fault, and while nothing runs in the background of the primary.
    pub(crate) fn follow(&mut self, primary: &Store) -> Done {
        primary.settle()?;
        primary.flush()?;
        match &self.db {
            Some(db) => done(db.try_catch_up_with_primary()),
            None => self.open(primary),
        }
    }

    /// Whether it shows all of its primary, which it just followed.
    pub(crate) fn is_like(&self, primary: &Store) -> bool {
        let entries = walk(self.db.as_ref().expect("it is open"), b"")
            .map(|entry| entry.expect("an iterator reads on"));
        entries.eq(primary.model().between(b"", None).map(|(key, value)| (key.into(), value.into())))
    }

    /// After a fault. One that caught up during it may stay behind for good, with stock filters too.
    pub(crate) fn follow_anew(&mut self, primary: &Store) -> Done {
        self.db = None;
        self.follow(primary)
    }

    fn open(&mut self, primary: &Store) -> Done {
        let opened = DB::open_cf_descriptors_as_secondary(
            &self.options,
            primary.path(),
            &self.path,
            families(&self.options),
        );
        self.db = Some(opened.map_err(rocksdb::Error::into_string)?);
        self.caught_up_during_a_fault = false;
        Ok(())
    }

    /// During a fault. One that fails is closed until the fault is over.
    pub(crate) fn catch_up_during_a_fault(&mut self) -> Done {
        self.caught_up_during_a_fault = true;
        let caught_up = done(self.db.as_ref().ok_or("not open")?.try_catch_up_with_primary());
        if caught_up.is_err() {
            self.db = None;
        }
        caught_up
    }
}
