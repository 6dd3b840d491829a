//! Random operations on a database, every answer compared with the model's.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use rand::RngExt;
use rocksdb::{ColumnFamily, DB, Direction, IteratorMode, ReadOptions, SnapshotWithThreadMode, WriteBatch};
use springbloom_testkit::seed::TestRng;

use crate::{
    common::{model::Model, stock, write},
    keys::{self, Keys},
    sets::Prefixes,
};

/// Column families of the database, the default one first.
pub(crate) const COLUMN_FAMILIES: [&str; 2] = ["default", "side"];

/// Longest walk of an iterator.
const STEPS_MAX: usize = 60;

/// A snapshot and what it must show.
struct Held<'db> {
    snapshot: SnapshotWithThreadMode<'db, DB>,
    models: [Arc<Model>; 2],
}

/// One sequence of operations. Which operations come depends on the seed alone, so that the same seed under other options
/// must give the same answers.
pub(crate) struct Operations {
    rng: TestRng,
    keys: Keys,
    /// Those that the database has, if it has an extractor.
    prefixes: Option<Prefixes>,
    pub(crate) models: [Arc<Model>; 2],
    values: u64,
    answers: DefaultHasher,
    /// Answers compared with the model's.
    pub(crate) checks: u64,
}

/// One open database with the snapshots taken of it.
pub(crate) struct Session<'db> {
    db: &'db DB,
    held: Vec<Held<'db>>,
}

impl<'db> Session<'db> {
    pub(crate) fn new(db: &'db DB) -> Self {
        Self { db, held: Vec::new() }
    }

    fn column_family(&self, index: usize) -> &'db ColumnFamily {
        self.db.cf_handle(COLUMN_FAMILIES[index]).expect("the column family is open")
    }
}

impl Operations {
    /// `prefixes`: those of the database's extractor.
    pub(crate) fn new(rng: TestRng, prefixes: Option<Prefixes>) -> Self {
        Self {
            rng,
            keys: Keys { short: prefixes.is_none_or(Prefixes::allow_short_keys) },
            prefixes,
            models: Default::default(),
            values: 0,
            answers: DefaultHasher::new(),
            checks: 0,
        }
    }

    /// Digest of all answers so far.
    pub(crate) fn answers(&self) -> u64 {
        self.answers.finish()
    }

    /// One operation.
    pub(crate) fn step(&mut self, session: &mut Session<'_>) {
        let cf = usize::from(self.rng.random_ratio(1, 6));
        match self.rng.random_range(0..1000) {
            0..170 => self.put(session, cf),
            170..215 => self.delete(session, cf),
            215..245 => self.single(session, cf),
            245..290 => self.merge(session, cf),
            290..294 => self.delete_range(session, cf),
            294..310 => self.batch(session),
            310..720 => self.get(session, cf),
            720..790 => self.get_at_snapshot(session, cf),
            790..830 => self.multi_get(session),
            830..860 => self.multi_get_of_both(session),
            860..900 => self.batched_multi_get(session, cf),
            900..945 => self.walk_forward(session, cf),
            945..980 => self.walk_backward(session, cf),
            980..995 if self.prefixes.is_some() => self.seek_prefixes(session, cf),
            980..995 => self.walk_group(session, cf),
            995..998 => self.hold_or_release(session),
            998 => session.db.flush_cf(session.column_family(cf)).expect("flush"),
            _ => self.compact(session, cf),
        }
    }

    /// Lookups of random keys, at snapshots and in batches too, and seeks of prefixes where there are any, until `checks` more answers are
    /// compared.
    pub(crate) fn look_up(&mut self, session: &Session<'_>, checks: u64) {
        let end = self.checks + checks;
        while self.checks < end {
            let cf = usize::from(self.rng.random_ratio(1, 6));
            match self.rng.random_range(0..100) {
                0..70 => self.get(session, cf),
                70..90 => self.get_at_snapshot(session, cf),
                90..95 => self.multi_get_of_both(session),
                95..98 if self.prefixes.is_some() => self.seek_prefixes(session, cf),
                _ => self.batched_multi_get(session, cf),
            }
        }
    }

    fn model(&mut self, cf: usize) -> &mut Model {
        Arc::make_mut(&mut self.models[cf])
    }

    fn value(&mut self) -> Vec<u8> {
        self.values += 1;
        let mut value = format!("{:08}/", self.values).into_bytes();
        value.resize(value.len() + self.rng.random_range(0..130), b'v');
        value
    }

    fn put(&mut self, session: &Session<'_>, cf: usize) {
        let (key, value) = (self.keys.general(&mut self.rng), self.value());
        session.db.put_cf(session.column_family(cf), &key, &value).expect("put");
        self.model(cf).put(&key, &value);
    }

    fn delete(&mut self, session: &Session<'_>, cf: usize) {
        let key = self.keys.general(&mut self.rng);
        session.db.delete_cf(session.column_family(cf), &key).expect("delete");
        self.model(cf).delete(&key);
    }

    fn single(&mut self, session: &Session<'_>, cf: usize) {
        let key = self.keys.single(&mut self.rng);
        let mut batch = WriteBatch::default();
        if self.models[cf].get(&key).is_some() {
            batch.single_delete_cf(session.column_family(cf), &key);
            self.model(cf).delete(&key);
        } else {
            let value = self.value();
            batch.put_cf(session.column_family(cf), &key, &value);
            self.model(cf).put(&key, &value);
        }
        write(session.db, batch);
    }

    fn merge(&mut self, session: &Session<'_>, cf: usize) {
        let (key, operand) = (self.keys.general(&mut self.rng), self.value());
        session.db.merge_cf(session.column_family(cf), &key, &operand).expect("merge");
        self.model(cf).merge(&key, &operand);
    }

    fn delete_range(&mut self, session: &Session<'_>, cf: usize) {
        let (from, to) = self.keys.range(&mut self.rng);
        if from < to {
            session.db.delete_range_cf(session.column_family(cf), &from, &to).expect("delete_range");
            self.model(cf).delete_range(&from, &to);
        }
    }

    fn batch(&mut self, session: &Session<'_>) {
        let mut batch = WriteBatch::default();
        for _ in 0..self.rng.random_range(1..20) {
            let cf = usize::from(self.rng.random_ratio(1, 3));
            let handle = session.column_family(cf);
            let key = self.keys.general(&mut self.rng);
            match self.rng.random_range(0..10) {
                0..6 => {
                    let value = self.value();
                    batch.put_cf(handle, &key, &value);
                    self.model(cf).put(&key, &value);
                }
                6..8 => {
                    batch.delete_cf(handle, &key);
                    self.model(cf).delete(&key);
                }
                _ => {
                    let operand = self.value();
                    batch.merge_cf(handle, &key, &operand);
                    self.model(cf).merge(&key, &operand);
                }
            }
        }
        write(session.db, batch);
    }

    fn get(&mut self, session: &Session<'_>, cf: usize) {
        let key = self.keys.any(&mut self.rng);
        let handle = session.column_family(cf);
        let got = session.db.get_cf(handle, &key).expect("get");
        let expected = self.models[cf].get(&key).map(<[u8]>::to_vec);
        self.check_get(&key, got, expected, |options| session.db.get_cf_opt(handle, &key, &options));
    }

    fn get_at_snapshot(&mut self, session: &Session<'_>, cf: usize) {
        let key = self.keys.any(&mut self.rng);
        let Some(held) = pick(&mut self.rng, &session.held) else { return };
        let handle = session.column_family(cf);
        let got = held.snapshot.get_cf(handle, &key).expect("get");
        let expected = held.models[cf].get(&key).map(<[u8]>::to_vec);
        self.check_get(&key, got, expected, |options| held.snapshot.get_cf_opt(handle, &key, options));
    }

    fn some_keys(&mut self) -> Vec<Vec<u8>> {
        // More than 32, the size of RocksDB's own batches, now and then.
        let count = self.rng.random_range(1..50);
        (0..count).map(|_| self.keys.any(&mut self.rng)).collect()
    }

    fn multi_get(&mut self, session: &Session<'_>) {
        let keys = self.some_keys();
        for (key, got) in keys.iter().zip(session.db.multi_get(&keys)) {
            self.check(key, got.expect("multi_get").as_deref(), self.models[0].get(key).map(<[u8]>::to_vec));
        }
    }

    fn multi_get_of_both(&mut self, session: &Session<'_>) {
        let keys: Vec<_> =
            self.some_keys().into_iter().map(|key| (usize::from(self.rng.random_bool(0.5)), key)).collect();
        let got = session.db.multi_get_cf(keys.iter().map(|(cf, key)| (session.column_family(*cf), key)));
        for ((cf, key), got) in keys.iter().zip(got) {
            let expected = self.models[*cf].get(key).map(<[u8]>::to_vec);
            self.check(key, got.expect("multi_get_cf").as_deref(), expected);
        }
    }

    fn batched_multi_get(&mut self, session: &Session<'_>, cf: usize) {
        let mut keys = self.some_keys();
        let sorted = self.rng.random_bool(0.5);
        if sorted {
            keys.sort();
        }
        let mut options = ReadOptions::default();
        let model = self.at_snapshot_or_now(session, cf, &mut options);
        options.set_async_io(self.rng.random_bool(0.2));
        let got = session.db.batched_multi_get_cf_opt(session.column_family(cf), &keys, sorted, &options);
        for (key, got) in keys.iter().zip(got) {
            let expected = model.get(key).map(<[u8]>::to_vec);
            self.check(key, got.expect("batched_multi_get_cf").as_deref(), expected);
        }
    }

    /// Reads a snapshot now and then, and gives what must be seen.
    fn at_snapshot_or_now(
        &mut self,
        session: &Session<'_>,
        cf: usize,
        options: &mut ReadOptions,
    ) -> Arc<Model> {
        match pick(&mut self.rng, &session.held).filter(|_| self.rng.random_bool(0.3)) {
            Some(held) => {
                options.set_snapshot(&held.snapshot);
                held.models[cf].clone()
            }
            None => self.models[cf].clone(),
        }
    }

    /// Read options for a walk, and the model that it must follow.
    fn walk_options(&mut self, session: &Session<'_>, cf: usize) -> (ReadOptions, Arc<Model>) {
        let mut options = ReadOptions::default();
        options.set_total_order_seek(self.prefixes.is_some());
        options.set_verify_checksums(self.rng.random_bool(0.5));
        options.set_pin_data(self.rng.random_bool(0.2));
        options.fill_cache(self.rng.random_bool(0.5));
        let model = self.at_snapshot_or_now(session, cf, &mut options);
        (options, model)
    }

    fn walk_forward(&mut self, session: &Session<'_>, cf: usize) {
        let (mut options, model) = self.walk_options(session, cf);
        let from = self.keys.any(&mut self.rng);
        let to = self.rng.random_bool(0.3).then(|| self.keys.any(&mut self.rng)).filter(|to| *to > from);
        if let Some(to) = &to {
            options.set_iterate_upper_bound(to.clone());
        }
        let steps = self.rng.random_range(1..STEPS_MAX);
        let mode = IteratorMode::From(&from, Direction::Forward);
        let walk = session.db.iterator_cf_opt(session.column_family(cf), options, mode);
        self.compare_walk(walk, model.between(&from, to.as_deref()), steps);
    }

    fn walk_backward(&mut self, session: &Session<'_>, cf: usize) {
        let (options, model) = self.walk_options(session, cf);
        let from = self.keys.any(&mut self.rng);
        let steps = self.rng.random_range(1..STEPS_MAX);
        let mode = IteratorMode::From(&from, Direction::Reverse);
        let walk = session.db.iterator_cf_opt(session.column_family(cf), options, mode);
        self.compare_walk(walk, model.backward_from(&from), steps);
    }

    /// All keys of one group, by a bound.
    fn walk_group(&mut self, session: &Session<'_>, cf: usize) {
        let group = self.rng.random_range(0..keys::PREFIXES + 2);
        let (from, to) = (keys::prefix(group), keys::prefix(group + 1));
        let mut options = ReadOptions::default();
        options.set_iterate_upper_bound(to.clone());
        let model = self.models[cf].clone();
        let mode = IteratorMode::From(&from, Direction::Forward);
        let walk = session.db.iterator_cf_opt(session.column_family(cf), options, mode);
        self.compare_walk(walk, model.between(&from, Some(&to)), STEPS_MAX);
    }

    /// Some seeks of prefixes, in both directions, of present and absent ones.
    fn seek_prefixes(&mut self, session: &Session<'_>, cf: usize) {
        let Some(prefixes) = self.prefixes else { return };
        let prefix_bytes = prefixes.bytes;
        for _ in 0..10 {
            let mut from = if self.rng.random_ratio(1, 8) {
                keys::prefix(self.rng.random_range(0..keys::PREFIXES + 2))
            } else {
                self.keys.any(&mut self.rng)
            };
            let (cut, is_absent, forward) =
                (self.rng.random_bool(0.5), self.rng.random_bool(0.3), self.rng.random_bool(0.7));
            if from.len() < prefix_bytes && !prefixes.are_capped {
                from.resize(prefix_bytes, b'0');
            }
            if cut {
                let least = if prefixes.are_capped { 1 } else { prefix_bytes };
                from.truncate(self.rng.random_range(least..=prefix_bytes));
            }
            if is_absent && let Some(last) = from.iter_mut().take(prefix_bytes).last() {
                *last = b'!';
            }
            let prefix = prefixes.of(&from).to_vec();
            let (mut options, model) = self.walk_options(session, cf);
            options.set_total_order_seek(false);
            // Before 11.8 RocksDB itself asks for the prefix of keys that are too short to have one.
            options.set_prefix_same_as_start(!cfg!(rocksdb_before_11_8));
            options.set_async_io(self.rng.random_bool(0.1));
            // Of all keys below it, those from the target on have what that begins with, or the prefix alone.
            let bytes = self.rng.random_range(1..=from.len().max(1));
            let bound = match self.rng.random_range(0..10) {
                0 => Some([&prefix[..], b"\xff"].concat()),
                1..4 => behind(&from[..bytes.min(from.len())]),
                _ => None,
            };
            if let Some(bound) = &bound {
                options.set_iterate_upper_bound(bound.clone());
            }
            let handle = session.column_family(cf);
            let has_prefix = |(key, _): &(&[u8], &[u8])| prefixes.of(key) == prefix;
            let direction = if forward { Direction::Forward } else { Direction::Reverse };
            let walk = session.db.iterator_cf_opt(handle, options, IteratorMode::From(&from, direction));
            let is_beyond = |key: &[u8]| cfg!(rocksdb_before_11_8) && prefixes.of(key) != prefix;
            let walk = walk.take_while(|entry| !entry.as_ref().is_ok_and(|(key, _)| is_beyond(key)));
            if forward {
                let expected = model.between(&from, bound.as_deref());
                self.compare_walk(walk, expected.take_while(has_prefix), STEPS_MAX);
            } else {
                self.compare_walk(walk, model.backward_from(&from).take_while(has_prefix), STEPS_MAX);
            }
        }
    }

    fn hold_or_release<'db>(&mut self, session: &mut Session<'db>) {
        if session.held.len() < 3 {
            session.held.push(Held { snapshot: session.db.snapshot(), models: self.models.clone() });
        } else {
            let index = self.rng.random_range(0..session.held.len());
            session.held.swap_remove(index);
        }
    }

    fn compact(&mut self, session: &Session<'_>, cf: usize) {
        let handle = session.column_family(cf);
        if self.rng.random_bool(0.3) {
            session.db.compact_range_cf(handle, None::<&[u8]>, None::<&[u8]>);
        } else {
            let (from, to) = (self.keys.any(&mut self.rng), self.keys.any(&mut self.rng));
            let (from, to) = if from < to { (from, to) } else { (to, from) };
            session.db.compact_range_cf(handle, Some(from), Some(to));
        }
    }

    fn compare_walk<'m>(
        &mut self,
        walk: impl Iterator<Item = Result<(Box<[u8]>, Box<[u8]>), rocksdb::Error>>,
        mut expected: impl Iterator<Item = (&'m [u8], &'m [u8])>,
        steps: usize,
    ) {
        let mut walk = walk.map(|entry| entry.expect("the iterator reads"));
        for _ in 0..steps {
            let (got, expected) = (walk.next(), expected.next());
            let got = got.as_ref().map(|(key, value)| (key.as_ref(), value.as_ref()));
            assert_eq!(got.map(printable), expected.map(printable), "an iterator differs from the oracle");
            got.hash(&mut self.answers);
            self.checks += 1;
            if got.is_none() {
                return;
            }
        }
    }

    /// Checks what a lookup of one key found. `get` asks again.
    fn check_get(
        &mut self,
        key: &[u8],
        got: Option<Vec<u8>>,
        expected: Option<Vec<u8>>,
        get: impl FnOnce(ReadOptions) -> Result<Option<Vec<u8>>, rocksdb::Error>,
    ) {
        let both = got.as_deref().zip(expected.as_deref());
        let is_lost = both.is_some_and(|(got, expected)| {
            stock::loses_what_was_merged(got, expected, |options| get(options).expect("get"))
        });
        if is_lost {
            eprintln!("RocksDB lost what was merged: {}", String::from_utf8_lossy(key));
        }
        let got = if is_lost { expected.clone() } else { got };
        self.check(key, got.as_deref(), expected);
    }

    fn check(&mut self, key: &[u8], got: Option<&[u8]>, expected: Option<Vec<u8>>) {
        assert!(
            got == expected.as_deref(),
            "key {:?}: got {:?}, expected {:?}",
            String::from_utf8_lossy(key),
            got.map(String::from_utf8_lossy),
            expected.as_deref().map(String::from_utf8_lossy),
        );
        got.hash(&mut self.answers);
        self.checks += 1;
    }

    /// Compares everything: all entries in order, and each key by a lookup, with absent neighbours between.
    pub(crate) fn compare_all(&mut self, db: &DB) {
        for (index, name) in COLUMN_FAMILIES.into_iter().enumerate() {
            let handle = db.cf_handle(name).expect("the column family is open");
            let model = self.models[index].clone();
            let mut options = ReadOptions::default();
            options.set_total_order_seek(true);
            options.set_verify_checksums(true);
            let walk = db.iterator_cf_opt(handle, options, IteratorMode::Start);
            self.compare_walk(walk, model.all(), usize::MAX);
            for (key, value) in model.all() {
                let got = db.get_cf(handle, key).expect("get");
                let again = |options| db.get_cf_opt(handle, key, &options);
                self.check_get(key, got, Some(value.to_vec()), again);
                let absent = [key, b"?!"].concat();
                self.check(&absent, db.get_pinned_cf(handle, &absent).expect("get").as_deref(), None);
            }
        }
    }
}

/// The first key behind all that begin with these bytes, if they are followed by any.
fn behind(beginning: &[u8]) -> Option<Vec<u8>> {
    let (last, others) = beginning.split_last()?;
    Some([others, &[last.checked_add(1)?]].concat())
}

fn printable<'e>((key, value): (&'e [u8], &'e [u8])) -> (String, String) {
    (String::from_utf8_lossy(key).into_owned(), String::from_utf8_lossy(value).into_owned())
}

fn pick<'a, T>(rng: &mut TestRng, of: &'a [T]) -> Option<&'a T> {
    // Drawn also when there is nothing to pick, so that the sequence of operations stays the same.
    let draw = rng.random::<u32>() as usize;
    of.get(draw % of.len().max(1))
}
