//! Structures of `cpp/abi.h`.

use std::ffi::{c_int, c_void};

use springbloom_host_core::Bytes;

use super::facts::{IndexOptions, TracedBlocks};

/// `springbloom_table_info`.
#[repr(C)]
pub(super) struct TableInfo {
    pub(super) file_bytes: u64,
    pub(super) entries: u64,
    pub(super) data_bytes: u64,
    pub(super) filter_bytes: u64,
    pub(super) index_bytes: u64,
    pub(super) filter_policy: Bytes,
    pub(super) session: Bytes,
    pub(super) orig_file_number: u64,
    pub(super) block_offset: u64,
    pub(super) block_bytes: u64,
    pub(super) raw_bytes: u64,
    pub(super) data_blocks: u64,
}

/// `springbloom_family_status`.
#[repr(C)]
#[derive(Default)]
pub(super) struct RawStatus {
    pub(super) is_active: c_int,
    pub(super) tables_with_units: u64,
    pub(super) tables_without_units: u64,
    pub(super) index_block_restart_interval: u64,
}

#[repr(C)]
pub(super) struct InspectSink {
    pub(super) context: *mut c_void,
    pub(super) table: unsafe extern "C" fn(*mut c_void, *const TableInfo),
    pub(super) head: unsafe extern "C" fn(*mut c_void, Bytes),
}

/// `springbloom_listed_table`.
#[repr(C)]
pub(super) struct RawListedTable {
    pub(super) family: Bytes,
    pub(super) number: u64,
    pub(super) level: i32,
}

/// `springbloom_index_options`.
#[repr(C)]
pub(super) struct RawIndexOptions {
    pub(super) restart_interval: c_int,
    pub(super) block_bytes: u64,
}

impl From<&IndexOptions> for RawIndexOptions {
    fn from(options: &IndexOptions) -> Self {
        let restart_interval = c_int::try_from(options.restart_interval).unwrap_or(c_int::MAX);
        Self { restart_interval, block_bytes: options.block_bytes }
    }
}

/// `springbloom_cache_trace`.
#[repr(C)]
pub(super) struct RawCacheTrace {
    pub(super) family: Bytes,
    pub(super) lookups: u64,
    pub(super) data: TracedBlocks,
    pub(super) index: TracedBlocks,
    pub(super) filters: TracedBlocks,
}
