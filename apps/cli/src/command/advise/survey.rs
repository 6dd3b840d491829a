//! What the tables of a database say of their filters and indexes, by column family and level.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use springbloom_rocksdb::inspect::TableSummary;
use springbloom_rocksdb::listed_tables::ListedTable;

/// The tables of a level of a column family.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Level {
    pub(crate) column_family: String,
    pub(crate) level: i32,
    pub(crate) tables: u64,
    pub(crate) tables_with_units: u64,
    /// Versions and deletions included.
    pub(crate) entries: u64,
    pub(crate) file_bytes: u64,
    pub(crate) filter_bytes: u64,
    /// Of the tables that have a filter.
    pub(crate) filter_bits_per_entry: f64,
    pub(crate) index_bytes: u64,
    /// RocksDB's names of the kinds of filters.
    pub(crate) filter_policies: BTreeSet<String>,
    #[serde(skip)]
    filtered_entries: u64,
}

/// All tables.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Survey {
    pub(crate) tables: u64,
    pub(crate) tables_with_units: u64,
    pub(crate) tables_without_filter: u64,
    pub(crate) entries: u64,
    pub(crate) file_bytes: u64,
    pub(crate) filter_bytes: u64,
    pub(crate) index_bytes: u64,
    /// Blocks of data, and their bytes without compression.
    pub(crate) data_blocks: u64,
    pub(crate) raw_bytes: u64,
    #[serde(serialize_with = "as_list")]
    pub(crate) levels: BTreeMap<(String, i32), Level>,
}

fn as_list<S: serde::Serializer>(
    levels: &BTreeMap<(String, i32), Level>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(levels.values())
}

impl Survey {
    pub(crate) fn add(&mut self, listed: &ListedTable, table: &TableSummary) {
        let family = listed.column_family.to_string();
        let level = self.levels.entry((family.clone(), listed.level)).or_default();
        (level.column_family, level.level) = (family, listed.level);
        level.tables += 1;
        level.tables_with_units += u64::from(table.has_units);
        level.entries += table.entries;
        level.file_bytes += table.file_bytes;
        level.filter_bytes += table.filter_bytes;
        level.index_bytes += table.index_bytes;
        if table.filter_bytes > 0 {
            level.filtered_entries += table.entries;
            level.filter_policies.insert(table.filter_policy.clone());
        }
        let bits = (8 * level.filter_bytes) as f64;
        level.filter_bits_per_entry = bits / level.filtered_entries.max(1) as f64;
        self.tables += 1;
        self.tables_with_units += u64::from(table.has_units);
        self.tables_without_filter += u64::from(table.filter_bytes == 0);
        self.entries += table.entries;
        self.file_bytes += table.file_bytes;
        self.filter_bytes += table.filter_bytes;
        self.index_bytes += table.index_bytes;
        self.data_blocks += table.data_blocks;
        self.raw_bytes += table.raw_bytes;
    }

    pub(crate) fn column_families(&self) -> usize {
        self.levels.keys().map(|(family, _)| family).collect::<BTreeSet<_>>().len()
    }

    /// Entries and filter bits of each sorted run: a lookup of an absent key asks every run of its column family once. Tables of level 0
    /// overlap, so each is a run.
    pub(crate) fn runs(&self) -> Vec<Run> {
        let mut runs = Vec::new();
        let mut of_family: BTreeMap<&str, u64> = BTreeMap::new();
        for ((family, _), level) in &self.levels {
            *of_family.entry(family).or_default() += level.entries;
        }
        for ((family, _), level) in &self.levels {
            let lookups = of_family[family.as_str()] as f64 / self.entries.max(1) as f64;
            let parts = if level.level == 0 { level.tables.max(1) } else { 1 };
            let entries = level.entries as f64 / parts as f64;
            let bits =
                if level.entries == 0 { 0.0 } else { 8.0 * level.filter_bytes as f64 / level.entries as f64 };
            let is_ribbon = level.filter_policies.iter().any(|policy| policy.contains("ibbon"));
            runs.extend((0..parts).map(|_| Run { entries, bits, is_ribbon, lookups }));
        }
        runs
    }
}

/// A sorted run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) entries: f64,
    /// Per entry.
    pub(crate) bits: f64,
    pub(crate) is_ribbon: bool,
    /// Share of the lookups that ask it: those of its column family, which are assumed to be as many as its keys.
    pub(crate) lookups: f64,
}
