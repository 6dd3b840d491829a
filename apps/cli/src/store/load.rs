//! Loading the tree that all databases are made from.
//!
//! Records arrive in a random but fixed order; a flush happens after a fixed number of them and waits for compactions to
//! finish. So the tree is a function of the settings, not of timing.

use std::path::Path;

use anyhow::{Context, Result};
use rocksdb::{DB, WaitForCompactOptions, WriteOptions};
use springbloom_workload::{KeySpace, Permutation, value};

use crate::progress::Step;
use crate::store::options::{AutoCompaction, CommonSettings};
use crate::store::preset::Style;
use crate::store::shape::Shape;

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

/// Writes `records` into a new database at `path`, without filters, and leaves the shape that the preset defines.
pub(crate) fn load_tree(path: &Path, records: &Records, common: &CommonSettings) -> Result<Shape> {
    let mut options = common.tree_options(AutoCompaction::On);
    options.create_if_missing(true);
    options.set_error_if_exists(true);
    // Flushes are ours to trigger: the memtable must not fill up first, whatever its own overhead.
    options.set_write_buffer_size(common.tree.write_buffer_bytes as usize * 8);
    let db = DB::open(&options, path).with_context(|| format!("cannot create {}", path.display()))?;
    let mut unlogged = WriteOptions::default();
    unlogged.disable_wal(true);

    let count = records.keys.records();
    let order = Permutation::new(count, records.seed);
    let flush_records = (common.tree.write_buffer_bytes / records.record_bytes().max(1)).max(1);
    let flushes = count.div_ceil(flush_records);
    let step = Step::start(&format!("loading {count} records"), count);
    let (mut key, mut bytes) = (Vec::new(), Vec::new());
    let mut compacting = true;
    for flush in 0..flushes {
        let batch = flush * flush_records..((flush + 1) * flush_records).min(count);
        step.advance(batch.end - batch.start);
        for index in batch {
            let record = order.apply(index);
            records.keys.present(record, &mut key);
            value::write(record, 0, records.value_bytes, &mut bytes);
            db.put_opt(&key, &bytes, &unlogged)?;
        }
        db.flush()?;
        if compacting {
            settle(&db)?;
            let flushes_left = flushes - flush - 1;
            let l0_files = Shape::of(&db)?.levels.first().map_or(0, |level| level.files);
            if flushes_left + l0_files <= u64::from(common.tree.l0_files_left) {
                db.set_options(&[("disable_auto_compactions", "true")])?;
                compacting = false;
            }
        }
    }
    if compacting && common.tree.style == Style::Leveled {
        // The last flushes were too few to start a compaction: without this, how many L0 files are left would depend on
        // the number of records modulo the trigger.
        db.set_options(&[("level0_file_num_compaction_trigger", "1")])?;
        settle(&db)?;
    }
    Ok(Shape::of(&db)?)
}

fn settle(db: &DB) -> Result<()> {
    Ok(db.wait_for_compact(&WaitForCompactOptions::default())?)
}
