//! The shape of a tree: which tables are on which level.

use anyhow::Result;
use rocksdb::properties;
use serde::Serialize;
use springbloom_published_policies::Level;

use crate::database::store::{Family, Store};

/// One table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TableShape {
    /// Number of its database, and its column family.
    pub(crate) family: (usize, String),
    pub(crate) level: usize,
    pub(crate) first_key: Vec<u8>,
    pub(crate) last_key: Vec<u8>,
    pub(crate) entries: u64,
}

/// The tables of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct LevelShape {
    pub(crate) files: u64,
    pub(crate) entries: u64,
    /// Files in full, filters included: the only part that may differ between configurations.
    pub(crate) bytes: u64,
}

/// The number behind the property whose name starts with `name`, in RocksDB's `name=value; name=value` form.
fn property(properties: &str, name: &str) -> u64 {
    properties
        .split(';')
        .filter_map(|property| property.rsplit_once('='))
        .find(|(key, _)| key.trim().starts_with(name))
        .and_then(|(_, value)| value.trim().parse().ok())
        .unwrap_or(0)
}

/// A tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    /// By level, up to the deepest that is used.
    pub(crate) levels: Vec<LevelShape>,
    /// Sorted.
    pub(crate) tables: Vec<TableShape>,
    /// Filter blocks of all tables (those of stock filters, not units).
    pub(crate) filter_bytes: u64,
}

impl Shape {
    /// The shape that all families of `store` have now, together.
    pub(crate) fn of(store: &Store) -> Result<Self> {
        let mut shape = Shape::default();
        for (database, db) in store.databases.iter().enumerate() {
            for file in db.live_files()? {
                let level = usize::try_from(file.level).unwrap_or_default();
                if shape.levels.len() <= level {
                    shape.levels.resize(level + 1, LevelShape::default());
                }
                let tables = &mut shape.levels[level];
                tables.files += 1;
                tables.entries += file.num_entries;
                tables.bytes += file.size as u64;
                shape.tables.push(TableShape {
                    family: (database, file.column_family_name),
                    level,
                    first_key: file.start_key.unwrap_or_default(),
                    last_key: file.end_key.unwrap_or_default(),
                    entries: file.num_entries,
                });
            }
        }
        shape.tables.sort();
        for Family { db, handle, .. } in store.families()? {
            if let Some(properties) = db.property_value_cf(handle, properties::AGGREGATED_TABLE_PROPERTIES)? {
                shape.filter_bytes += property(&properties, "filter block size");
            }
        }
        Ok(shape)
    }

    /// Files and keys of each level.
    pub(crate) fn keys_by_level(&self) -> Vec<Level> {
        self.levels.iter().map(|level| Level { files: level.files, keys: level.entries }).collect()
    }

    /// Entries on all levels.
    pub(crate) fn entries(&self) -> u64 {
        self.levels.iter().map(|level| level.entries).sum()
    }

    /// Segments of this much data, roughly: each table has at least one.
    pub(crate) fn segments(&self, data_bytes: u64) -> u64 {
        self.levels.iter().map(|level| level.files.max(level.bytes / data_bytes)).sum()
    }

    /// Bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.levels.iter().map(|level| level.bytes).sum()
    }

    /// Whether both have the same tables on the same levels.
    pub(crate) fn same_tables(&self, other: &Shape) -> bool {
        self.tables == other.tables
    }

    /// Such as `L1 1, L2 10, L3 109, L4 220 files`.
    pub(crate) fn summary(&self) -> String {
        let levels: Vec<String> = (self.levels.iter().enumerate())
            .filter(|(_, level)| level.files > 0)
            .map(|(number, level)| format!("L{number} {}", level.files))
            .collect();
        if levels.is_empty() { "no tables".to_owned() } else { format!("{} files", levels.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_segment_at_least() {
        let level = |files, bytes| LevelShape { files, bytes, entries: 0 };
        let shape = Shape { levels: vec![level(3, 100), level(2, 1_000)], ..Shape::default() };
        assert_eq!(shape.segments(100), 3 + 10);
        assert_eq!(shape.segments(1 << 40), 5);
    }

    #[test]
    fn properties_are_found_by_the_start_of_their_names() {
        let text = "# entries=5; data block size=99; index block size (user-key? 1, delta-value? 1)=1234; filter block size=77; ";
        assert_eq!(property(text, "index block size"), 1234);
        assert_eq!(property(text, "filter block size"), 77);
        assert_eq!(property(text, "no such size"), 0);
    }
}
