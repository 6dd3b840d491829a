//! The engine as the core knows it: what its adapter describes and lends. The core calls it from here alone, with what it lent: by the
//! header, its functions take that.

#![allow(unsafe_code)]

mod bytes;
mod cache;
mod description;
mod engine_comparator;
mod file_access;
mod gate;
mod open_file;
mod table_name;
#[cfg(test)]
pub(crate) mod test_engine;

pub use bytes::Bytes;
pub use description::{CacheCalls, Engine, Name};
#[cfg(test)]
pub(crate) use open_file::{FileCalls, IndexEntry};
pub(crate) use {
    cache::{Cache, CacheAlarm, CacheCharge, CacheUse, RowCache},
    engine_comparator::EngineComparator,
    file_access::{Access, FileAccess},
    open_file::{File, Head, OpenFile, OwnedHead},
};
