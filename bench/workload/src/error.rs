//! Errors of workload settings.

use std::path::{Path, PathBuf};

/// Errors of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// The text is not a distribution.
    #[error(
        "unknown distribution {got:?}: expected uniform, zipf:EXPONENT, latest:EXPONENT, \
         hotspot:RECORD_SHARE:ACCESS_SHARE or ranges:RECORDS:EXPONENT"
    )]
    UnknownDistribution {
        /// The text.
        got: String,
    },
    /// The text is not a mix.
    #[error("unknown workload {got:?}: expected get, or one of the letters a to f of YCSB")]
    UnknownMix {
        /// The text.
        got: String,
    },
    /// The text gives no shares of operations.
    #[error(
        "{got:?}: expected shares that sum to 1, of read, update, insert, scan and rmw, such as read=.9,update=.1"
    )]
    BadMix {
        /// The text.
        got: String,
    },
    /// The text names no movement.
    #[error(
        "unknown movement {got:?}: expected none, jump:LOOKUPS, drift:LOOKUPS or alternate:LOOKUPS, with at least 1"
    )]
    UnknownMovement {
        /// What was given.
        got: String,
    },
    /// The text names no kind of absent keys.
    #[error("unknown absent keys {got:?}: expected popular or fresh")]
    UnknownAbsentKeys {
        /// What was given.
        got: String,
    },
    /// A number is outside its range.
    #[error("{what}: got {got}, expected {expected}")]
    OutOfRange {
        /// Name of the setting.
        what: &'static str,
        /// Its value.
        got: f64,
        /// The valid range.
        expected: &'static str,
    },
    /// A file could not be read.
    #[error("cannot read {what} {path}: {source}", path = path.display())]
    Unreadable {
        /// What is read from it.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file has too few different keys.
    #[error("{path} has {got} different keys, expected at least {expected}", path = path.display())]
    TooFewKeys {
        /// The file.
        path: PathBuf,
        /// Different keys in it.
        got: u64,
        /// Keys needed.
        expected: u64,
    },
    /// There is no room for absent keys between the keys of a file.
    #[error("no keys between those of {path} could be found: they leave no gaps", path = path.display())]
    NoRoomForAbsentKeys {
        /// The file.
        path: PathBuf,
    },
    /// A key of a file is longer than any that a store takes.
    #[error("{path}: got a key of {got} bytes, expected at most {expected}: is it a file of keys, one a line?", path = path.display())]
    LongKey {
        /// The file.
        path: PathBuf,
        /// Bytes of the key.
        got: usize,
        /// The most that it may have.
        expected: usize,
    },
    /// A trace could not be read, or is none.
    #[error("{path}, {place}: {wrong}", path = path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// A line or a byte of it.
        place: String,
        /// What is there, and what was expected.
        wrong: String,
    },
    /// Ranges of keys were asked for on keys that are scattered.
    #[error("ranges of neighbouring keys need keys in the order of their records")]
    ScatteredKeys,
    /// Inserts need new keys, which a file of keys cannot give.
    #[error(
        "this workload inserts records, which keys from a file do not allow: use synthetic keys, or a mix without inserts"
    )]
    CannotInsert,
    /// Seeks of prefixes were asked for on keys that have none.
    #[error(
        "seeks ask for prefixes of synthetic keys: expected no file of keys and no --distribution ranges"
    )]
    NoPrefixes,
    /// Fresh absent keys were asked for on keys of a file, which have one absent key each.
    #[error(
        "keys from a file have too few absent keys to ask for each only once: use synthetic keys, or popular absent keys"
    )]
    NoFreshKeys,
}

impl WorkloadError {
    pub(crate) fn unreadable(what: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::Unreadable { what, path: path.to_owned(), source }
    }
}
