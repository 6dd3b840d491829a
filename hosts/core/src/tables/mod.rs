//! Known tables: how they are opened and read, where they lie, and when they are forgotten.

pub(crate) mod builder_memory;
pub(crate) mod databases;
pub(crate) mod deferred;
pub(crate) mod gate;
pub(crate) mod handover;
pub(crate) mod open_table;
pub(crate) mod table_files;
pub(crate) mod table_location;
pub(crate) mod unit_builder;
