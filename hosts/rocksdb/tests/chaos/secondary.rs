//! A secondary instance of a store: it shows the store as it was when it last caught up.

use std::path::PathBuf;

use rocksdb::{DB, Options};

use crate::{
    common::model::Model,
    store::{Done, Lookups, Store, done, families},
};

pub(crate) struct Secondary {
    path: PathBuf,
    /// With all tables open: its primary deletes those that it compacted.
    options: Options,
    db: Option<DB>,
    /// What it must answer. `None` after it caught up during a fault, which may have shown it a part.
    model: Option<Model>,
}

impl Secondary {
    pub(crate) fn new(options: &Options, path: PathBuf) -> Self {
        let mut options = options.clone();
        options.set_max_open_files(-1);
        Self { path, options, db: None, model: None }
    }

    pub(crate) fn lookups(&self) -> Result<Lookups<'_>, String> {
        let db = self.db.as_ref().ok_or("not open")?;
        Ok(Lookups { path: &self.path, db, model: self.model.as_ref() })
    }

    /// Without a fault, and while nothing runs in the background of the primary: shows all of it afterwards.
    pub(crate) fn follow(&mut self, primary: &Store) -> Done {
        primary.settle()?;
        match &self.db {
            Some(db) => done(db.try_catch_up_with_primary())?,
            None => self.open(primary)?,
        }
        self.model = Some(primary.model().clone());
        Ok(())
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
        Ok(())
    }

    /// During a fault. One that fails is closed until the fault is over.
    pub(crate) fn catch_up_during_a_fault(&mut self) -> Done {
        self.model = None;
        let caught_up = done(self.db.as_ref().ok_or("not open")?.try_catch_up_with_primary());
        if caught_up.is_err() {
            self.db = None;
        }
        caught_up
    }
}
