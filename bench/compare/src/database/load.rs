//! Loads records: for the tree that all databases are copied from, and to measure loads.
//!
//! Records are written in a random but fixed order (those of a trace in its order), with a flush after a fixed number of
//! records. After a fixed number of flushes the load waits for compaction. So the tree depends on the settings and not on timing.

use std::path::Path;

use anyhow::Result;
use rocksdb::{Options, WaitForCompactOptions};
use springbloom_console::Step;
use springbloom_workload::{KeySpace, value};

use crate::database::options::{AutoCompaction, CommonSettings};
use crate::database::preset::{Style, TreeShape};
use crate::database::shape::Shape;
use crate::database::store::Store;

/// The records that databases hold.
pub(crate) struct Records {
    pub(crate) keys: KeySpace,
    pub(crate) value_bytes: usize,
    pub(crate) seed: u64,
}

impl Records {
    /// Average bytes of a record.
    pub(crate) fn record_bytes(&self) -> u64 {
        self.keys.key_bytes() / self.keys.records().max(1) + self.value_bytes as u64
    }
}

/// Writes `records` into each family of new databases at `path`, without filters, and leaves the shape that the preset defines.
pub(crate) fn load_tree(path: &Path, records: &Records, common: &CommonSettings) -> Result<Shape> {
    let count = records.keys.records();
    let all = common.all(count);
    let step = Step::start(&format!("loading {all} records"), all);
    let mut options = vec![common.tree_options(AutoCompaction::Off); common.families as usize];
    Shape::of(&load(path, &mut options, records, count, common, &step)?)
}

/// Writes the first `count` of `records` into new databases at `path`, into each family with its options, through memtable, flush and
/// compaction until there is nothing left to compact.
pub(crate) fn load(
    path: &Path,
    options: &mut [Options],
    records: &Records,
    count: u64,
    common: &CommonSettings,
    step: &Step,
) -> Result<Store> {
    let tree = &common.tree;
    for options in &mut *options {
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        options.set_error_if_exists(true);
        // The load triggers flushes itself, so the memtable must not fill up before.
        options.set_write_buffer_size(tree.write_buffer_bytes as usize * 8);
    }
    let store = Store::open(path, common.family_databases, options)?;
    let write_options = CommonSettings::write_options();
    let order = records.keys.load_order(count, records.seed);
    let schedule = Schedule::new(count, records.record_bytes(), tree);
    let (mut key, mut bytes) = (Vec::new(), Vec::new());
    for flush in 0..schedule.flushes {
        for family in store.families()? {
            let batch = schedule.records_of(flush, count);
            let batch_records = batch.end - batch.start;
            for index in batch {
                let record = order(index);
                records.keys.present(record, &mut key);
                value::write(record, 0, records.value_bytes, &mut bytes);
                family.db.put_cf_opt(family.handle, &key, &bytes, &write_options)?;
            }
            family.db.flush_cf(family.handle)?;
            step.advance(batch_records);
        }
        if schedule.compacts_after(flush) {
            compact(&store, tree.l0_trigger)?;
        }
        if flush + 1 == schedule.compacted_flushes && tree.style == Style::Leveled {
            // Even few files: their number must not depend on the number of records modulo the trigger.
            compact(&store, 1)?;
        }
    }
    Ok(store)
}

/// Lets RocksDB compact all families until it finds nothing to do: one compaction of a database runs at a time.
fn compact(store: &Store, l0_trigger: u32) -> Result<()> {
    let trigger = l0_trigger.to_string();
    let set = |options: &[(&str, &str)]| {
        let families = store.families()?;
        anyhow::Ok(families.iter().try_for_each(|family| family.db.set_options_cf(family.handle, options))?)
    };
    set(&[("level0_file_num_compaction_trigger", &trigger), ("disable_auto_compactions", "false")])?;
    for db in &store.databases {
        db.wait_for_compact(&WaitForCompactOptions::default())?;
    }
    set(&[("disable_auto_compactions", "true")])
}

/// When a load flushes and compacts.
struct Schedule {
    flush_records: u64,
    flushes: u64,
    /// The first ones; the files of those behind them stay in L0.
    compacted_flushes: u64,
    /// Times that compaction catches up, evenly spread.
    compactions: u64,
}

impl Schedule {
    fn new(records: u64, record_bytes: u64, tree: &TreeShape) -> Self {
        let flush_records = (tree.write_buffer_bytes / record_bytes.max(1)).max(1);
        let flushes = records.div_ceil(flush_records);
        let compacted_flushes = flushes.saturating_sub(u64::from(tree.l0_files_left));
        let lag = u64::from(tree.lag_flushes.max(1));
        Schedule { flush_records, flushes, compacted_flushes, compactions: compacted_flushes.div_ceil(lag) }
    }

    fn records_of(&self, flush: u64, records: u64) -> std::ops::Range<u64> {
        flush * self.flush_records..((flush + 1) * self.flush_records).min(records)
    }

    fn compacts_after(&self, flush: u64) -> bool {
        let done = |flushes: u64| flushes * self.compactions / self.compacted_flushes.max(1);
        flush < self.compacted_flushes && done(flush + 1) > done(flush)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::preset::Preset;

    fn compactions(schedule: &Schedule) -> Vec<u64> {
        (0..schedule.flushes).filter(|&flush| schedule.compacts_after(flush)).collect()
    }

    #[test]
    fn compactions_are_spread_evenly_and_end_with_the_compacted_part() {
        let s1 = Schedule::new(5_000_000, 1_024, &Preset::Leveled.shape());
        let after = compactions(&s1);
        assert_eq!((s1.flushes, after.len(), after.last()), (306, 9, Some(&305)));
        assert!(after.windows(2).all(|pair| (34..=34).contains(&(pair[1] - pair[0]))), "{after:?}");
        let all: u64 = (0..s1.flushes).map(|flush| s1.records_of(flush, 5_000_000).count() as u64).sum();
        assert_eq!(all, 5_000_000);
    }

    #[test]
    fn files_that_are_left_are_never_compacted() {
        let leveldb = Schedule::new(5_000_000, 1_024, &Preset::Leveldb.shape());
        assert_eq!(compactions(&leveldb).last(), Some(&(leveldb.flushes - 13)));
        let few = Schedule::new(10_000, 1_024, &Preset::Leveldb.shape());
        assert_eq!((few.flushes, compactions(&few)), (3, vec![]));
    }
}
