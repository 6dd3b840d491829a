//! What the C++ tells of tables and databases.

use std::sync::Arc;

/// Options of a table that decide what its index takes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexOptions {
    /// `index_block_restart_interval`.
    pub restart_interval: u32,
    /// `block_size`.
    pub block_bytes: u64,
}

/// The part of a table that was rewritten, and the index of that part.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexSize {
    /// Entries.
    pub entries: u64,
    /// Data blocks.
    pub data_blocks: u64,
    /// Bytes of these, uncompressed.
    pub data_bytes: u64,
    /// Bytes of the index.
    pub index_bytes: u64,
}

/// One table of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedTable {
    /// Name of its column family.
    pub column_family: Arc<str>,
    /// Name of the order of its keys.
    pub comparator: Arc<str>,
    /// First user key. Its range deletions count, too.
    pub smallest: Box<[u8]>,
    /// Last user key, likewise.
    pub largest: Box<[u8]>,
    /// Level in the tree.
    pub level: i32,
    /// Number of its file.
    pub number: u64,
    /// Of two tables of level 0, the one of the later epoch is newer.
    pub epoch: u64,
    /// In the same epoch, the one with the newer entry.
    pub newest_sequence: u64,
}

/// What a column family does with filter units.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FamilyStatus {
    /// Whether the tables that it writes from now on get units (unless
    /// [`create_filters`](crate::ElasticFiltersBuilder::create_filters) is off), and those that have them are read with them.
    pub is_active: bool,
    /// Tables that have units.
    pub tables_with_units: u64,
    /// Tables that have none: written by stock RocksDB, or given no filter. A compaction rewrites them.
    pub tables_without_units: u64,
    /// The option of the tables that it writes from now on; 0 if they are stock RocksDB's. 16 where the block cache pays for the budget
    /// ([`small_index`](crate::ElasticFiltersBuilder::small_index)).
    pub index_block_restart_interval: u64,
}
