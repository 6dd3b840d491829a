//! Databases to compare: what is in them (`preset`), how they differ (`config`), and how all of them come to have the
//! same tree shape (`build`).

pub(crate) mod block_cache;
pub(crate) mod build;
pub(crate) mod config;
pub(crate) mod elastic;
pub(crate) mod load;
pub(crate) mod manifest;
pub(crate) mod open;
pub(crate) mod options;
pub(crate) mod preset;
pub(crate) mod remove;
pub(crate) mod shape;
pub(crate) mod store;
pub(crate) mod table_options;
mod unsafe_rewrite;

/// The RocksDB that is linked in; its bindings are pinned to it.
pub(crate) const ROCKSDB_VERSION: &str = "11.8.1";
