//! Structures of `cpp/abi.h`, lent for a call.

use springbloom_host_core::Bytes;

/// `springbloom_table_info`.
#[repr(C)]
pub(crate) struct TableInfo<'a> {
    pub(crate) file_bytes: u64,
    pub(crate) entries: u64,
    pub(crate) data_bytes: u64,
    pub(crate) filter_bytes: u64,
    pub(crate) index_bytes: u64,
    pub(crate) filter_policy: Bytes<'a>,
    pub(crate) session: Bytes<'a>,
    pub(crate) orig_file_number: u64,
    /// Where the block of filter units is; 0 without one.
    pub(crate) block_offset: u64,
    pub(crate) block_bytes: u64,
    pub(crate) raw_bytes: u64,
    pub(crate) data_blocks: u64,
    /// First bytes of that block: its header and directory, if it is sound. Empty without one.
    pub(crate) head: Bytes<'a>,
}

/// `springbloom_listed_table`.
#[repr(C)]
pub(crate) struct RawListedTable<'a> {
    pub(crate) family: Bytes<'a>,
    pub(crate) comparator: Bytes<'a>,
    pub(crate) smallest: Bytes<'a>,
    pub(crate) largest: Bytes<'a>,
    pub(crate) number: u64,
    pub(crate) epoch: u64,
    pub(crate) newest_sequence: u64,
    pub(crate) level: i32,
}

/// `springbloom_lookup`.
#[repr(C)]
#[derive(Default)]
pub(crate) struct RawLookup {
    pub(crate) newest: i32,
    pub(crate) ends_lookup: i32,
    pub(crate) index_blocks: u64,
    pub(crate) data_blocks: u64,
}
