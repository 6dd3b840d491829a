//! Stores that share a strict cache: those with stock filters, or those with elastic ones.

use std::{ops::Range, path::Path, thread};

use rocksdb::{DB, Options};
use springbloom_rocksdb::ElasticFilters;

use super::{
    operation::{Operation, Shake},
    script::numbers,
    secondary::Secondary,
    store::{Done, Expected, Lookups, Store},
};
use crate::common::{contents::key, faults::SharedCache, installed};

pub(crate) const STORES: usize = 6;
/// The store that is largest and gets half of the operations.
pub(crate) const BUSY: usize = 0;
/// The store that has a secondary.
pub(crate) const FOLLOWED: usize = 1;

/// Capacities of the cache. The least is enough for stock filters.
pub(crate) const CAPACITIES: Range<usize> = 4 << 20..24 << 20;
/// Memtables of all stores, in the cache.
pub(crate) const MEMTABLE_BYTES: usize = 768 << 10;
/// Plenty for all filters.
pub(crate) const AMPLE_BYTES: u64 = 8 << 20;

pub(crate) struct Side {
    pub(crate) name: &'static str,
    options: Options,
    cache: SharedCache,
    pub(crate) elastic: Option<ElasticFilters>,
    stores: Vec<Store>,
    secondary: Secondary,
}

impl Side {
    /// `options` without a cache. `elastic`: the filters, else stock ones.
    pub(crate) fn new(
        name: &'static str,
        mut options: Options,
        shard_bits: i32,
        elastic: Option<ElasticFilters>,
        folder: &Path,
    ) -> Self {
        let cache = SharedCache::strict(&mut options, CAPACITIES.end, shard_bits, MEMTABLE_BYTES);
        if let Some(elastic) = &elastic {
            options = installed(elastic, &options);
        }
        let folder = folder.join(name);
        let stores: Vec<_> =
            (0..STORES).map(|store| Store::create(&options, folder.join(format!("store{store}")))).collect();
        let secondary = Secondary::new(&options, folder.join("secondary"));
        Self { name, options, cache, elastic, stores, secondary }
    }

    /// # Panics
    /// On a wrong answer.
    pub(crate) fn apply(&mut self, operation: &Operation, is_faulty: bool) -> Done {
        match operation {
            Operation::Put { store, key, value } => self.stores[*store].put(key, value),
            Operation::Delete { store, key } => self.stores[*store].delete(key),
            Operation::Merge { store, key, operand } => self.stores[*store].merge(key, operand),
            Operation::Get { store, key } => self.lookups(*store)?.get(key),
            Operation::MultiGet { store, keys } => self.lookups(*store)?.multi_get(keys),
            Operation::BatchedMultiGet { store, keys } => self.lookups(*store)?.batched_multi_get(keys),
            Operation::Walk { store, from, steps } => self.stores[*store].walk(from, *steps),
            Operation::KeyMayExist { store, key } => self.stores[*store].key_may_exist(key),
            Operation::SecondaryGet { key } => self.secondary.lookups()?.get(key),
            Operation::SecondaryMultiGet { keys } => self.secondary.lookups()?.batched_multi_get(keys),
            Operation::CatchUp if is_faulty => self.secondary.catch_up_during_a_fault(),
            Operation::CatchUp => self.secondary.follow(&self.stores[FOLLOWED]),
            Operation::Flush { store } => self.stores[*store].flush(),
            Operation::Compact { store, from, to } => self.stores[*store].compact(from, to),
            Operation::Open { store } => self.stores[*store].open(&self.options),
            Operation::Close { store } => {
                self.stores[*store].close();
                Ok(())
            }
            Operation::SetBudget { bytes } => {
                self.set_budget(*bytes);
                Ok(())
            }
            Operation::ResizeCache { bytes } => {
                self.cache.set_capacity(*bytes);
                Ok(())
            }
            Operation::Shake(shake) => self.shake(shake),
        }
    }

    fn lookups(&self, store: usize) -> Result<Lookups<'_>, String> {
        let store = &self.stores[store];
        Ok(Lookups { path: store.path(), db: store.db()?, expected: Expected::Of(store.model()) })
    }

    fn set_budget(&self, bytes: u64) {
        if let Some(elastic) = &self.elastic {
            elastic.set_budget_bytes(bytes).expect("a budget");
        }
    }

    fn shake(&self, shake: &Shake) -> Done {
        let lookups = self.lookups(BUSY)?;
        thread::scope(|scope| {
            let lookups = &lookups;
            let readers = shake
                .keys
                .each_ref()
                .map(|keys| scope.spawn(move || keys.iter().try_for_each(|key| lookups.get(key))));
            for &(budget, capacity) in &shake.changes {
                self.set_budget(budget);
                self.cache.set_capacity(capacity);
                thread::yield_now();
            }
            readers.into_iter().try_for_each(|reader| reader.join().expect("right answers"))
        })
    }

    /// Room for all filters.
    pub(crate) fn make_room(&self) {
        self.cache.set_capacity(CAPACITIES.end);
        self.set_budget(AMPLE_BYTES);
    }

    /// The stores in which something failed for good, once nothing runs in the background.
    pub(crate) fn is_broken(&self, store: usize) -> bool {
        self.stores[store].settle().is_err()
    }

    pub(crate) fn reopen(&mut self, store: usize) -> Done {
        self.stores[store].close();
        self.stores[store].open(&self.options)
    }

    /// The secondary shows all of its store again.
    pub(crate) fn follow_anew(&mut self) -> Done {
        self.secondary.follow_anew(&self.stores[FOLLOWED])
    }

    pub(crate) fn open_stores(&self) -> impl Iterator<Item = (usize, &DB)> {
        self.stores.iter().enumerate().filter_map(|(index, store)| Some((index, store.db().ok()?)))
    }

    /// Compares all that is there. Whether the secondary shows all of its store.
    pub(crate) fn verify(&mut self) -> bool {
        self.stores.iter().filter(|store| store.db().is_ok()).for_each(Store::verify);
        let followed = &self.stores[FOLLOWED];
        self.secondary.follow(followed).expect("a secondary catches up without a fault");
        self.secondary.is_like(followed)
    }

    /// Fills all stores by half.
    pub(crate) fn fill(&mut self) {
        for (index, store) in self.stores.iter_mut().enumerate() {
            for number in (0..numbers(index)).step_by(2) {
                store.put(&key(number), b"filled").expect("a put");
            }
        }
        self.follow_anew().expect("a secondary opens");
    }
}
