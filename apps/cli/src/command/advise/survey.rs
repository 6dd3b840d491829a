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

impl Level {
    pub(crate) fn kinds_of_filters(&self) -> String {
        let policies: Vec<_> = self.filter_policies.iter().map(String::as_str).collect();
        if policies.is_empty() { "none".to_owned() } else { policies.join(", ") }
    }
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
}
