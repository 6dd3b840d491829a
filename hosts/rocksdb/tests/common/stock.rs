//! What stock RocksDB makes of a database.

use rocksdb::{BottommostLevelCompaction, CompactOptions, DB, ReadOptions};

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

/// Whether `got` is what stock RocksDB makes of merges where it loses what they are merged with. A level may have the newest operands of a
/// key at the end of one table and its older entries at the beginning of the next. Where an older range deletion covers the key, too,
/// `Version::Get` (11.8.1) takes the next table for deleted (`features` shows it without filter units). `MultiGet`, iterators and
/// compactions find the entries, and so does `get` with range deletions ignored.
#[allow(deprecated, reason = "RocksDB deprecates the option for its little gain")]
pub(crate) fn loses_what_was_merged(
    got: &[u8],
    expected: &[u8],
    get: impl FnOnce(ReadOptions) -> Option<Vec<u8>>,
) -> bool {
    let mut options = ReadOptions::default();
    options.set_ignore_range_deletions(true);
    got.len() < expected.len() && expected.ends_with(got) && get(options).as_deref() == Some(expected)
}
