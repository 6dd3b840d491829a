//! What stock RocksDB makes of a database.

use rocksdb::{BottommostLevelCompaction, CompactOptions, DB};

#[allow(unused_imports, reason = "every test program uses a part of it")]
pub(crate) use super::unsafe_calls::verify_checksums;

/// Writes every table of a column family again.
pub(crate) fn rewrite_family(db: &DB, column_family: &str) {
    let handle = db.cf_handle(column_family).expect("the column family is open");
    db.flush_cf(handle).expect("flush");
    db.compact_range_cf_opt(handle, None::<&[u8]>, None::<&[u8]>, &all_tables());
}

/// Writes every table of the default column family again.
pub(crate) fn rewrite(db: &DB) {
    db.flush().expect("flush");
    db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &all_tables());
}

fn all_tables() -> CompactOptions {
    let mut options = CompactOptions::default();
    options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
    options.set_exclusive_manual_compaction(true);
    options
}
