//! A storage of named devices, and what a structure asks of it.

use std::io;
use std::sync::Arc;

use crate::{FlashError, PageDevice};

/// Devices by name.
pub trait Storage: Send + Sync {
    /// Creates a device of `len_bytes`, replacing one of that name. Its contents are unspecified until written. The name is durable on
    /// return.
    fn create(&self, name: &str, len_bytes: u64) -> io::Result<Arc<dyn PageDevice>>;

    /// Opens an existing device. `NotFound` if there is none.
    fn open(&self, name: &str) -> io::Result<Arc<dyn PageDevice>>;

    /// Removes a device. `NotFound` if there is none.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Names of everything in this storage, devices or not, sorted.
    fn names(&self) -> io::Result<Vec<String>>;

    /// Bytes that new devices can take. `None` if that is not known.
    fn free_bytes(&self) -> Option<u64> {
        None
    }

    /// Whether devices are writable.
    fn is_writable(&self) -> bool {
        true
    }

    /// The name of a device in messages.
    fn describe(&self, name: &str) -> String;
}

/// Returns an error if `storage` is open for reading only.
pub fn require_writable(storage: &dyn Storage) -> Result<(), FlashError> {
    if storage.is_writable() { Ok(()) } else { Err(FlashError::ReadOnly { name: storage.describe("") }) }
}

/// Returns an error if a device of `needed_bytes` finds no room in `storage`.
pub fn require_space(storage: &dyn Storage, name: &str, needed_bytes: u64) -> Result<(), FlashError> {
    match storage.free_bytes() {
        Some(free_bytes) if free_bytes < needed_bytes => {
            Err(FlashError::NoSpace { name: storage.describe(name), needed_bytes, free_bytes, inserted: 0 })
        }
        _ => Ok(()),
    }
}

/// Number of names that an error lists.
const NAMES_MAX: usize = 4;

/// Returns an error if there is anything in `storage`.
pub fn require_empty(storage: &dyn Storage) -> Result<(), FlashError> {
    let name = storage.describe("");
    let names = storage.names().map_err(FlashError::io("list", &name))?;
    if names.is_empty() { Ok(()) } else { Err(FlashError::NotEmpty { name, got: listed(&names) }) }
}

/// The error for a structure whose file, or what else is `missing`, is not there.
pub fn incomplete(storage: &dyn Storage, missing: &str) -> FlashError {
    let got = listed(&storage.names().unwrap_or_default());
    FlashError::Incomplete { name: storage.describe(""), missing: missing.to_owned(), got }
}

/// For `map_err`: an error about a file that is missing becomes [`FlashError::Incomplete`].
pub fn or_incomplete(storage: &dyn Storage) -> impl FnOnce(FlashError) -> FlashError {
    |error| match &error {
        FlashError::Io { action: "open", name, source } if source.kind() == io::ErrorKind::NotFound => {
            incomplete(storage, name.rsplit('/').next().unwrap_or(name))
        }
        _ => error,
    }
}

/// The names, or some of many.
fn listed(names: &[String]) -> String {
    let more = match names.len().saturating_sub(NAMES_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", names[..names.len().min(NAMES_MAX)].join(", "))
}
