//! The table files of a database and their filter units.

use std::path::{Path, PathBuf};

use springbloom_rocksdb::inspect::{self, TableReport};

/// Paths of the table files in a database's folder, sorted.
pub(crate) fn table_paths(database: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(database)
        .expect("the database's folder can be listed")
        .map(|entry| entry.expect("the folder can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sst"))
        .collect();
    paths.sort();
    paths
}

/// Reports on all table files in a database's folder but those that a compaction deletes meanwhile.
pub(crate) fn reports(database: &Path) -> Vec<TableReport> {
    table_paths(database)
        .iter()
        .filter_map(|path| match inspect::table(path) {
            Err(_) if !path.exists() => None, // a compaction was done with it
            report => Some(report.expect("a table file can be inspected")),
        })
        .collect()
}

/// How many tables have filter units and how many have none; sound ones, or the test fails.
pub(crate) fn with_and_without_units(database: &Path) -> (usize, usize) {
    let reports = reports(database);
    let with = reports
        .iter()
        .filter_map(|report| report.units.as_ref())
        .map(|units| units.as_ref().expect("the filter block is sound"))
        .inspect(|units| assert_eq!(units.corrupt_unit_count(), 0))
        .count();
    (with, reports.len() - with)
}
