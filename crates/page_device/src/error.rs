//! What can go wrong in this crate, each with what was found, what was expected, and what the caller can do.

use std::io;

/// Errors of the flash structures. A lookup never returns one: what it cannot read answers "may match".
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what each field is")]
#[derive(Debug, thiserror::Error)]
pub enum FlashError {
    /// The operating system refused an operation on one of the files.
    #[error("cannot {action} {name}")]
    Io { action: &'static str, name: String, source: io::Error },

    /// The file is something else altogether.
    #[error("{name} is no file of Springbloom's kind: it begins with {got:02x?}, expected {expected:02x?}")]
    Foreign { name: String, got: [u8; 8], expected: [u8; 8] },

    /// Written by a newer program than this one; upgrade to read it.
    #[error(
        "{name} has format version {got}, this program reads versions up to {expected}: upgrade to open it"
    )]
    NewerVersion { name: String, got: u32, expected: u32 },

    /// The file says what it is, but its contents are not what was written.
    #[error("{name} is damaged: {part} has {got}, expected {expected}")]
    Damaged { name: String, part: &'static str, got: String, expected: String },

    /// The file ends too early.
    #[error("{name} is cut short: {got_bytes} bytes, expected {expected_bytes}")]
    Truncated { name: String, got_bytes: u64, expected_bytes: u64 },

    /// A setting that no filter can be built or opened with.
    #[error("{setting} is {got}, expected {expected}")]
    InvalidSetting { setting: &'static str, got: String, expected: String },

    /// The device does not take pieces as small as the pages of a filter (make it with larger ones) or the sectors of an index.
    #[error(
        "{name} has pages of {got_bytes} bytes, expected multiples of {expected_bytes}, the block of its device"
    )]
    PageSize { name: String, got_bytes: u32, expected_bytes: usize },

    /// A key or a value that a record of the index cannot hold.
    #[error("a {part} of {got_bytes} bytes, expected {expected}")]
    RecordLength { part: &'static str, got_bytes: usize, expected: &'static str },

    /// More entries with the same digest than a partition holds; keys made to collide.
    #[error("{got_entries} records have digests alike, more than a partition of the index can hold")]
    Crowded { got_entries: usize },

    /// The memory budget does not hold the fixed parts; raise it, or use larger flush groups.
    #[error("a memory budget of {got_bytes} bytes is too small: this filter needs at least {expected_bytes}")]
    BudgetTooSmall { got_bytes: u64, expected_bytes: u64 },

    /// Written by an older program than this one can read.
    #[error(
        "{name} has format version {got}, this program reads version {expected} alone: use the release that wrote it, or make it anew"
    )]
    OlderVersion { name: String, got: u32, expected: u32 },

    /// Another process has it open: one writes, or any number read.
    #[error(
        "{name} is in use by another process: it takes one writer or any number of readers; try again when that process has ended"
    )]
    InUse { name: String },

    /// There is nothing of this kind in the folder.
    #[error("{name} holds no {expected}")]
    NotFound { name: String, expected: &'static str },

    /// It is another structure of Springbloom's.
    #[error("{name} is {got}, expected {expected}")]
    WrongKind { name: String, got: &'static str, expected: &'static str },

    /// It was opened for reading.
    #[error("{name} is open for reading: open it for writing to change it")]
    ReadOnly { name: String },

    /// `create` does not overwrite, and wants a folder to itself.
    #[error("{name} is not empty: it holds {got}; expected an empty folder, or one that does not exist yet")]
    NotEmpty { name: String, got: String },

    /// Two filters whose pages cannot be united.
    #[error("the filters differ in {part}: {got}, expected {expected}")]
    Incompatible { part: &'static str, got: String, expected: String },

    /// An earlier write failed, so what is on the device is not known. Open the filter again to recover.
    #[error("an earlier write to {name} failed; open it again to recover what was acknowledged")]
    WriterFailed { name: String },
}

impl FlashError {
    /// A closure for `map_err` that says what was being done to which file.
    pub fn io(action: &'static str, name: &str) -> impl FnOnce(io::Error) -> FlashError {
        move |source| FlashError::Io { action, name: name.to_owned(), source }
    }
}

/// Refuses a setting that does not hold what it should.
pub fn require(
    holds: bool,
    setting: &'static str,
    got: impl ToString,
    expected: &str,
) -> Result<(), FlashError> {
    if holds {
        return Ok(());
    }
    Err(FlashError::InvalidSetting { setting, got: got.to_string(), expected: expected.to_owned() })
}
