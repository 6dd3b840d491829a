//! One store, and what it may answer: all that it acknowledged, and of what failed one or the other.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    thread,
};

use rocksdb::{
    AsColumnFamilyRef, ColumnFamilyDescriptor, DB, Direction, Error, IteratorMode, Options, WriteBatch,
};

use super::worker::{Done, Work};
use crate::common::{
    contents::key,
    faults::{set_closed, take_calls_for_closed},
    try_to_write,
};

/// Keys of a column family.
pub(crate) const NUMBERS: u32 = 1_500;
const DEFAULT: &str = "default";

/// This many, from one on in steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    pub(crate) first: u32,
    pub(crate) step: u32,
    pub(crate) count: u32,
}

impl Numbers {
    fn all(self) -> impl Iterator<Item = u32> {
        (0..self.count).map(move |n| (self.first + n * self.step) % NUMBERS)
    }
}

/// Its column family is the one at this place among those that there are. `Seek` finds all keys that begin as that of the number does.
/// `Open` closes the store before if it is open.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Put { family: usize, numbers: Numbers },
    Delete { family: usize, numbers: Numbers },
    Get { family: usize, numbers: Numbers },
    MultiGet { family: usize, numbers: Numbers },
    Seek { family: usize, number: u32 },
    Flush { family: usize },
    Compact { family: usize },
    CreateFamily,
    DropFamily { family: usize },
    Close,
    Open,
    GetAll,
}

#[derive(Default)]
struct Family {
    /// A call failed that creates or drops it.
    may_be_missing: bool,
    /// By number: the last value, and those that may have been written after it by calls that failed. `None`: no value.
    values: BTreeMap<u32, Vec<Option<u64>>>,
}

pub(crate) struct Store {
    path: PathBuf,
    options: Options,
    db: Option<DB>,
    families: BTreeMap<String, Family>,
    made_families: u32,
    writes: u64,
}

fn text(error: Error) -> String {
    error.into_string()
}

fn value(write: u64, number: u32) -> Vec<u8> {
    format!("{write}/{number}/{}", "v".repeat(number as usize % 90)).into_bytes()
}

impl Family {
    fn check(&self, number: u32, got: Option<&[u8]>, place: &str) {
        let expected = self.values.get(&number).map_or(&[None][..], |values| values);
        let is_expected =
            expected.iter().any(|write| write.map(|write| value(write, number)).as_deref() == got);
        let got = got.map(|got| got.escape_ascii().to_string());
        assert!(is_expected, "{place}: {number} is {got:?}, and writes {expected:?} were made");
    }

    fn is_certainly_there(&self, number: u32) -> bool {
        self.values.get(&number).is_some_and(|values| values.iter().all(Option::is_some))
    }
}

impl Store {
    /// A new one, which is open then.
    pub(crate) fn create(path: &Path, options: &Options) -> Self {
        let mut new = options.clone();
        new.create_if_missing(true);
        let db = DB::open(&new, path).expect("a new store opens");
        // A table that stays.
        db.put(key(NUMBERS), "stays").expect("put");
        db.flush().expect("flush");
        drop(db);
        let families = [(DEFAULT.to_owned(), Family::default())].into();
        let (path, options) = (path.into(), options.clone());
        let mut store = Self { path, options, db: None, families, made_families: 0, writes: 0 };
        store.open().expect("it opens");
        store
    }

    /// Deletes its files.
    pub(crate) fn delete(mut self) {
        self.close();
        assert_eq!(take_calls_for_closed(), 0);
        set_closed(&self.path, false);
        DB::destroy(&self.options, &self.path).expect("its files can be deleted");
    }

    /// One that has a table is left alone when this returns.
    fn close(&mut self) {
        if self.db.take().is_some() {
            set_closed(&self.path, true);
        }
    }

    fn open(&mut self) -> Done {
        self.close();
        set_closed(&self.path, false);
        let listed = DB::list_cf(&self.options, &self.path).map_err(text)?;
        let place = self.path.display();
        for (name, family) in &self.families {
            assert!(family.may_be_missing || listed.contains(name), "{place}: {name} is lost");
        }
        self.families.retain(|name, _| listed.contains(name));
        assert_eq!(self.families.len(), listed.len(), "{place}: a column family is back: {listed:?}");
        let descriptors = listed.iter().map(|name| ColumnFamilyDescriptor::new(name, self.options.clone()));
        self.db = Some(DB::open_cf_descriptors(&self.options, &self.path, descriptors).map_err(text)?);
        self.families.values_mut().for_each(|family| family.may_be_missing = false);
        Ok(())
    }

    /// Name of the column family at this place among those that are open.
    fn name(&self, place: usize) -> Option<String> {
        let db = self.db.as_ref()?;
        let open: Vec<_> = self.families.keys().filter(|name| db.cf_handle(name).is_some()).collect();
        Some(open[place % open.len()].clone())
    }

    /// `None`: it is not open, perhaps as a call failed that creates or drops it.
    fn handle(&self, name: &str) -> Option<(&DB, impl AsColumnFamilyRef)> {
        let db = self.db.as_ref()?;
        Some((db, db.cf_handle(name)?))
    }

    fn write(&mut self, name: &str, numbers: Numbers, is_put: bool) -> Done {
        let Some(db) = &self.db else { return Ok(()) };
        let (handle, mut batch) = (db.cf_handle(name).expect("it is open"), WriteBatch::default());
        let mut written = Vec::new();
        for number in numbers.all() {
            self.writes += 1;
            written.push((number, is_put.then_some(self.writes)));
            match is_put {
                true => batch.put_cf(handle, key(number), value(self.writes, number)),
                false => batch.delete_cf(handle, key(number)),
            }
        }
        let done = try_to_write(db, batch).map_err(text);
        let family = self.families.get_mut(name).expect("it is known");
        for (number, write) in written {
            let values = family.values.entry(number).or_insert_with(|| vec![None]);
            if done.is_ok() {
                values.clear();
            }
            values.push(write);
        }
        done
    }

    fn get(&self, name: &str, numbers: impl Iterator<Item = u32>) -> Done {
        let Some((db, handle)) = self.handle(name) else { return Ok(()) };
        let (family, place) = (&self.families[name], format!("{} {name}", self.path.display()));
        let mut first_error = Ok(());
        for number in numbers {
            match db.get_pinned_cf(&handle, key(number)) {
                Ok(got) => family.check(number, got.as_deref(), &place),
                Err(error) => first_error = first_error.and(Err(text(error))),
            }
        }
        first_error
    }

    fn multi_get(&self, name: &str, numbers: Numbers) -> Done {
        let Some((db, handle)) = self.handle(name) else { return Ok(()) };
        let (family, place) = (&self.families[name], format!("{} {name}", self.path.display()));
        let keys: Vec<_> = numbers.all().map(key).collect();
        let mut first_error = Ok(());
        for (number, got) in numbers.all().zip(db.batched_multi_get_cf(&handle, &keys, false)) {
            match got {
                Ok(got) => family.check(number, got.as_deref(), &place),
                Err(error) => first_error = first_error.and(Err(text(error))),
            }
        }
        first_error
    }

    fn seek(&self, name: &str, number: u32) -> Done {
        let Some((db, handle)) = self.handle(name) else { return Ok(()) };
        let (family, place) = (&self.families[name], format!("{} {name}", self.path.display()));
        let first = number / 100 * 100;
        let mut next = first;
        for entry in db.iterator_cf(&handle, IteratorMode::From(&key(first), Direction::Forward)) {
            let (found, value) = entry.map_err(text)?;
            let found: u32 = String::from_utf8_lossy(&found[3..]).parse().expect("a number");
            (next..found.min(first + 100)).for_each(|number| family.check(number, None, &place));
            if found >= first + 100 {
                return Ok(());
            }
            family.check(found, Some(&value), &place);
            next = found + 1;
        }
        let lost = (next..first + 100).find(|&number| family.is_certainly_there(number));
        assert_eq!(lost, None, "{place}: not there");
        Ok(())
    }

    fn create_family(&mut self) -> Done {
        let Some(db) = &mut self.db else { return Ok(()) };
        self.made_families += 1;
        let name = format!("family{}", self.made_families);
        let created = db.create_cf(&name, &self.options).map_err(text);
        let family = Family { may_be_missing: created.is_err(), ..Family::default() };
        self.families.insert(name, family);
        created
    }

    fn drop_family(&mut self, name: &str) -> Done {
        if name == DEFAULT {
            return Ok(());
        }
        let Some(db) = &mut self.db else { return Ok(()) };
        let dropped = db.drop_cf(name).map_err(text);
        match dropped {
            Ok(()) => _ = self.families.remove(name),
            Err(_) => self.families.get_mut(name).expect("it is known").may_be_missing = true,
        }
        dropped
    }

    fn flush(&self, name: &str) -> Done {
        let Some(db) = &self.db else { return Ok(()) };
        db.flush_cf(db.cf_handle(name).expect("it is open")).map_err(text)
    }

    /// RocksDB's call gives no status in Rust.
    fn compact(&self, name: &str) -> Done {
        let Some(db) = &self.db else { return Ok(()) };
        db.compact_range_cf(db.cf_handle(name).expect("it is open"), None::<&[u8]>, None::<&[u8]>);
        Ok(())
    }
}

impl Work for Store {
    type Operation = Operation;

    fn apply(&mut self, operation: &Operation) -> Done {
        let place = match operation {
            Operation::Open => return self.open(),
            Operation::Close => {
                self.close();
                return Ok(());
            }
            Operation::CreateFamily => return self.create_family(),
            Operation::GetAll => {
                let names: Vec<_> = self.families.keys().cloned().collect();
                return names.iter().try_for_each(|name| self.get(name, 0..NUMBERS));
            }
            Operation::Put { family, .. }
            | Operation::Delete { family, .. }
            | Operation::Get { family, .. }
            | Operation::MultiGet { family, .. }
            | Operation::Seek { family, .. }
            | Operation::Flush { family }
            | Operation::Compact { family }
            | Operation::DropFamily { family } => *family,
        };
        let Some(name) = self.name(place) else { return Ok(()) };
        match operation {
            Operation::Put { numbers, .. } => self.write(&name, *numbers, true),
            Operation::Delete { numbers, .. } => self.write(&name, *numbers, false),
            Operation::Get { numbers, .. } => self.get(&name, numbers.all()),
            Operation::MultiGet { numbers, .. } => self.multi_get(&name, *numbers),
            Operation::Seek { number, .. } => {
                // Where a cache with a strict limit shrinks, an open iterator may fail until the charge to it has.
                let mut tries = (0..50).map(|_| self.seek(&name, *number)).inspect(|_| thread::yield_now());
                let is_refused = |done: &Done| matches!(done, Err(error) if error.contains("Memory limit"));
                tries.find(|done| !is_refused(done)).unwrap_or_else(|| Err("the cache stays full".into()))
            }
            Operation::Flush { .. } => self.flush(&name),
            Operation::Compact { .. } => self.compact(&name),
            _ => self.drop_family(&name),
        }
    }
}
