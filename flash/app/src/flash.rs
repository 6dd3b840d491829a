//! Shared by the commands for structures on flash: opening, errors and reports.

use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::anyhow;
use serde_json::{Value, json};
use springbloom_console::failure::sentence;
use springbloom_console::output::warn;
use springbloom_console::{Step, bad_input};
pub(crate) use springbloom_flash_filter::{
    BufferSettings, FilterInfo, FilterSettings, FlashFilter, FlushPolicy, GROUP_PAGES_MAX, LayerInfo, Layout,
    MemorySize, PAGE_BYTES_MAX, PAGE_BYTES_MIN, PROBES_MAX, VerifyReport, WhenFull,
};
pub(crate) use springbloom_flash_index::{
    EXPECTED_KEYS_MAX, FlashIndex, INDEX_PAGE_BYTES, IndexInfo, IndexMemory, IndexSettings,
    IndexVerifyReport, KEY_BYTES_MAX, VALUE_BYTES_MAX,
};
pub(crate) use springbloom_page_device::{
    Access, FileStorage, FlashError, SECTOR_BYTES, Storage, WalReport, Watch,
};

/// Parts of a step that is drawn, as the units of a watch may become more.
const PARTS: u64 = 1000;

/// Draws how far a call has come, as the step `what`, if it takes long.
pub(crate) fn drawn(what: &str) -> Watch<'static> {
    let step = Step::of(what, PARTS);
    let mut before = 0;
    Watch::new(move |done, total| {
        let now = (PARTS * done / total.max(1)).max(before);
        step.advance(now - before);
        before = now;
        ControlFlow::Continue(())
    })
}

/// Keeps errors about damage, the machine and full sets. Turns all others into errors that the user can correct.
pub(crate) fn explain(error: FlashError) -> anyhow::Error {
    match error {
        FlashError::Io { ref source, .. } if is_full_disk(source.kind()) => {
            let error = sentence(&error.into());
            anyhow!(
                "{error}; free some space on its file system, then repeat the command (what was durable is kept)"
            )
        }
        FlashError::Io { .. }
        | FlashError::WriterFailed { .. }
        | FlashError::Damaged { .. }
        | FlashError::TornCopy { .. }
        | FlashError::Truncated { .. }
        | FlashError::Full { .. }
        | FlashError::NoSpace { .. } => error.into(),
        _ => bad_input(error.to_string()),
    }
}

/// The error for a set or an index, as `kind` says, that cannot be opened.
pub(crate) fn explain_opening(folder: &Path, kind: &str, error: FlashError) -> anyhow::Error {
    match error {
        FlashError::Incomplete { .. } => {
            bad_input(format!("{error}, or see `springflash {kind} repair --help`"))
        }
        _ if is_missing(&error) => {
            let folder = folder.display();
            bad_input(format!("{folder} holds no {kind}; create one with `springflash {kind} create`"))
        }
        _ => explain(error),
    }
}

fn is_full_disk(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// Whether the error says that a file is not there.
fn is_missing(error: &FlashError) -> bool {
    matches!(error, FlashError::Io { source, .. } if source.kind() == ErrorKind::NotFound)
        || matches!(error, FlashError::NotFound { .. })
}

/// Whether both paths lead to the same folder.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Refuses to salvage `damaged`, a set or an index as `kind` says, into its own folder.
pub(crate) fn require_other(damaged: &Path, to: &Path, kind: &str) -> anyhow::Result<()> {
    if !is_same(damaged, to) {
        return Ok(());
    }
    let (damaged, to) = (damaged.display(), to.display());
    Err(bad_input(format!(
        "{to} is the damaged {kind} itself, expected a new or empty folder for the salvaged {kind}; to repair it in place, name one \
         folder: `springflash {kind} repair {damaged}`"
    )))
}

/// Opens something to look at it. If its last writer was interrupted (`is_recovered` says so), that is made good once, so that the next
/// command need not read the log again; where it cannot be, on a read-only file system or with other readers, the log is read.
pub(crate) fn open_recovered<T>(
    folder: &Path,
    open_read_only: impl Fn() -> Result<T, FlashError>,
    is_recovered: impl Fn(&T) -> bool,
    recover: impl FnOnce() -> Result<(), FlashError>,
) -> Result<T, FlashError> {
    let opened = open_read_only()?;
    if is_recovered(&opened) {
        return Ok(opened);
    }
    drop(opened);
    match recover() {
        Ok(()) => warn(format_args!(
            "the last command on {} was interrupted; everything that it acknowledged has been recovered",
            folder.display()
        )),
        Err(FlashError::Io { source, .. }) => warn(format_args!(
            "the last command on {} was interrupted and cannot be recovered here ({source}): lookups read its log, which takes time",
            folder.display()
        )),
        // Somebody else reads, or makes it good just now.
        Err(FlashError::InUse { .. }) => {}
        Err(error) => return Err(error),
    }
    open_read_only()
}

/// Describes the state of a write-ahead log, for people.
pub(crate) fn log_in_words(log: &WalReport) -> String {
    format!(
        "write-ahead log: {} commits, {} blocks with one damaged copy, {} commits lost",
        log.commits, log.repaired_blocks, log.lost_commits
    )
}

/// The same as JSON.
pub(crate) fn log_document(log: &WalReport) -> Value {
    json!({
        "commits": log.commits,
        "blocks": log.blocks,
        "repaired_blocks": log.repaired_blocks,
        "lost_commits": log.lost_commits,
    })
}
