//! Shared by the commands for structures on flash: progress, errors and reports.

use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::anyhow;
use springbloom_console::failure::sentence;
use springbloom_console::sizes::Size;
use springbloom_console::{Step, bad_input};
use springbloom_page_device::{FlashError, WalReport, Watch};

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
        FlashError::NoSpace { name, needed_bytes, free_bytes, .. } => anyhow!(
            "{}; free some space, or choose a smaller capacity or another disk",
            room_in_words(&name, needed_bytes, free_bytes)
        ),
        FlashError::Io { .. }
        | FlashError::WriterFailed { .. }
        | FlashError::Damaged { .. }
        | FlashError::TornCopy { .. }
        | FlashError::Truncated { .. }
        | FlashError::Full { .. } => error.into(),
        _ => bad_input(error.to_string()),
    }
}

/// Says that a file does not fit on its disk.
pub(crate) fn room_in_words(name: &str, needed_bytes: u64, free_bytes: u64) -> String {
    let (needed, free) = (Size { bytes: needed_bytes }, Size { bytes: free_bytes });
    format!("{name} would take {needed}, its file system has {free} free")
}

fn is_full_disk(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
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

/// Describes the state of a write-ahead log, for people.
pub(crate) fn log_in_words(log: &WalReport) -> String {
    format!(
        "write-ahead log: {} commits, {} blocks with one damaged copy, {} commits lost",
        log.commits, log.repaired_blocks, log.lost_commits
    )
}
