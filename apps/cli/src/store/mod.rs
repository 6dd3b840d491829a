//! Databases to compare: what is in them (`preset`), how they differ (`config`), and how all of them come to have the
//! same tree shape (`build`).

pub(crate) mod build;
mod compact_files;
pub(crate) mod config;
pub(crate) mod database;
pub(crate) mod live_files;
pub(crate) mod load;
pub(crate) mod manifest;
pub(crate) mod monkey;
pub(crate) mod options;
mod partitioned;
pub(crate) mod preset;
pub(crate) mod remove;
pub(crate) mod shape;
