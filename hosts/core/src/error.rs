//! Errors of setting up elastic filters and of inspecting a table file.

use std::{io, path::PathBuf};

/// An error of a host. Lookups never meet one: a table whose units cannot be used is read without them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting is unknown or does not take its value.
    #[error("{0}")]
    Settings(String),
    /// The options do not take filter units.
    #[error("cannot install elastic filters: {0}")]
    Install(String),
    /// A database does not tell its tables.
    #[error("cannot tell which tables have filter units: {0}")]
    Status(String),
    /// A table file could not be read.
    #[error("{}: {message}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// The engine's message.
        message: String,
    },
    /// A file could not be opened or read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}
