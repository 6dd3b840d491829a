//! Errors of the flash structures: what was found, what was expected, and what the caller can do.

use std::io;

/// Errors of the flash structures. Lookups in a flash filter never fail; unreadable data answers "may match".
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what each field is")]
#[derive(Debug, thiserror::Error)]
pub enum FlashError {
    /// An operation on a file failed.
    #[error("cannot {action} {name}")]
    Io { action: &'static str, name: String, source: io::Error },

    /// The file is not of this format.
    #[error("{name} is not a file of this format: it begins with {got:02x?}, expected {expected:02x?}")]
    Foreign { name: String, got: [u8; 8], expected: [u8; 8] },

    /// A newer program wrote the file. Upgrade to read it.
    #[error(
        "{name} has format version {got}, this program reads versions up to {expected}; open it with a newer release"
    )]
    NewerVersion { name: String, got: u32, expected: u32 },

    /// The contents of the file are not those that were written.
    #[error("{name} is damaged: {part} has {got}, expected {expected}")]
    Damaged { name: String, part: &'static str, got: String, expected: String },

    /// The file is shorter than its header says.
    #[error(
        "{name} is too short: {got_bytes} bytes, expected {expected_bytes}; restore it from a copy, or salvage what is left: \
         `springflash set repair` or `springflash index repair`"
    )]
    Truncated { name: String, got_bytes: u64, expected_bytes: u64 },

    /// A setting is out of range.
    #[error("{setting} is {got}, expected {expected}")]
    InvalidSetting { setting: &'static str, got: String, expected: String },

    /// The device does not accept operations as small as the pages of the filter (choose larger pages) or the sectors of an index.
    #[error(
        "{name} uses pages of {got_bytes} bytes, expected a multiple of the device's block size of {expected_bytes} bytes"
    )]
    PageSize { name: String, got_bytes: u32, expected_bytes: usize },

    /// The key or value has an invalid length.
    #[error("the {part} has {got_bytes} bytes, expected {expected}")]
    RecordLength { part: &'static str, got_bytes: usize, expected: &'static str },

    /// Too many keys with equal digests: keys chosen to collide.
    #[error("{got_entries} keys have nearly equal digests, more than one partition of the index can hold")]
    Crowded { got_entries: usize },

    /// The memory budget does not hold the fixed parts. Raise it, or use larger flush groups.
    #[error("a memory budget of {got_bytes} bytes is too small: this filter needs at least {expected_bytes}")]
    BudgetTooSmall { got_bytes: u64, expected_bytes: u64 },

    /// The system gives no memory for a part: a limit of the process, or of its address space.
    #[error(
        "there is no memory for {wanted_bytes} bytes of {part}; {advice}, or raise the limit of the process"
    )]
    NoMemory { wanted_bytes: u64, part: &'static str, advice: &'static str },

    /// A program too old for this one wrote the file.
    #[error(
        "{name} has format version {got}, this program reads only version {expected}; use the release that wrote it, or create it again"
    )]
    OlderVersion { name: String, got: u32, expected: u32 },

    /// It is open already, here if `is_own`. One process may write, or any number may read.
    #[error("{name} is in use, expected one writer or any number of readers: {}", if *is_own {
        "this process has it open already; use that, or close it first"
    } else {
        "another process has it open; try again when that has closed it"
    })]
    InUse { name: String, is_own: bool },

    /// A filter holds as many keys as it was built for. The first `inserted` keys of the call are in it, and no others.
    #[error("{name} is full: it was built for {capacity_keys} keys and would hold about {keys}")]
    Full { name: String, capacity_keys: u64, keys: u64, inserted: usize },

    /// The file system has no room for a file of this size. If a filter could not grow, the first `inserted` keys of the call are in it,
    /// and no others.
    #[error(
        "{name} needs {needed_bytes} bytes, its file system has {free_bytes} bytes free; free some space, or choose a smaller capacity \
         or another disk"
    )]
    NoSpace { name: String, needed_bytes: u64, free_bytes: u64, inserted: usize },

    /// The folder holds no such structure.
    #[error("{name} holds no {expected}")]
    NotFound { name: String, expected: &'static str },

    /// The folder holds another structure of Springbloom.
    #[error("{name} is {got}, expected {expected}")]
    WrongKind { name: String, got: &'static str, expected: &'static str },

    /// The file system has no locks, and without one two processes could write.
    #[error(
        "cannot lock {name}: its file system ({file_system}) does not lock folders; put it on a local disk, such as one with ext4 or XFS"
    )]
    NoLocks { name: String, file_system: String, source: io::Error },

    /// The structure is open for reading only.
    #[error("{name} is open for reading only; open it for writing to change it")]
    ReadOnly { name: String },

    /// The folder is not empty. `create` never overwrites files.
    #[error("{name} is not empty: it holds {got}, expected an empty folder or one that does not exist")]
    NotEmpty { name: String, got: String },

    /// Some of its files were lost.
    #[error("{name} has no {missing}, only {got}: files were lost; restore them from a copy")]
    Incomplete { name: String, missing: String, got: String },

    /// The structure changed while it was scanned.
    #[error("{name} changed during the scan; start it again")]
    Changed { name: String },

    /// The filter would take more absent keys for present than it was made for, and nothing was merged.
    #[error(
        "{name} was made for a false positive rate of {expected:.2e}, and with the filters of the other one would have {got:.2e}, more \
         than one and a half times as much; choose to exceed it, or look keys up in both"
    )]
    RateTooHigh { name: String, got: f64, expected: f64 },

    /// A writer that was interrupted left it, and its log can only be applied by another one.
    #[error("{name} was not closed by its last writer; open it for writing once, which recovers it")]
    NotRecovered { name: String },

    /// A copy that was made file by file while a writer changed the original. Keys may be missing.
    #[error(
        "{name} was copied while it was written, and keys may be missing: it has {part} of generation {got}, expected {expected}; make the \
         copy with `copy_to` (`copy` in Python), or while no process has it open for writing; \
         `springflash set repair` and `springflash index repair` salvage what is left"
    )]
    TornCopy { name: String, part: &'static str, got: u64, expected: u64 },

    /// The caller ended the call before it was done (see [`Watch`](crate::Watch)).
    #[error("stopped before it was done")]
    Stopped,

    /// An earlier write failed, so the state on the device is unknown. Open it again to recover.
    #[error("an earlier write to {name} failed; open it again to recover what was acknowledged")]
    WriterFailed { name: String },
}

impl FlashError {
    /// Returns a closure for `map_err` that adds the action and the file.
    pub fn io(action: &'static str, name: &str) -> impl FnOnce(io::Error) -> FlashError {
        move |source| FlashError::Io { action, name: name.to_owned(), source }
    }

    /// `part` of the file `name` is not as it was written.
    pub fn damaged(
        name: &str,
        part: &'static str,
        got: impl Into<String>,
        expected: impl Into<String>,
    ) -> FlashError {
        FlashError::Damaged { name: name.to_owned(), part, got: got.into(), expected: expected.into() }
    }

    /// Whether there is nothing where it was looked for.
    pub fn is_missing(&self) -> bool {
        matches!(self, FlashError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
            || matches!(self, FlashError::NotFound { .. })
    }

    /// Whether a release with another format wrote it.
    pub fn is_other_version(&self) -> bool {
        matches!(self, FlashError::NewerVersion { .. } | FlashError::OlderVersion { .. })
    }
}

/// Returns an error about `setting` unless `holds`.
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
