//! Opening and closing a set or an index.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use springbloom_console::bad_input;
use springbloom_console::output::warn;
use springbloom_flash_filter::{BufferSettings, FlashFilter};
use springbloom_flash_index::{FlashIndex, IndexMemory};
use springbloom_page_device::{Access, FileStorage, FlashError, Storage, Watch};

use crate::flash::{drawn, explain};

/// What sets and indexes have in common.
pub(crate) trait Structure: Sized {
    /// Its name in messages, and its command.
    const KIND: &'static str;
    /// How much memory it takes while it is open.
    type Memory: Copy;

    fn open(
        storage: Arc<dyn Storage>,
        memory: Self::Memory,
        watch: &mut Watch<'_>,
    ) -> Result<Self, FlashError>;

    /// Whether its last writer closed it.
    fn is_recovered(&self) -> bool;

    fn close(self, watch: &mut Watch<'_>) -> Result<(), FlashError>;
}

impl Structure for FlashFilter {
    const KIND: &'static str = "set";
    type Memory = BufferSettings;

    fn open(
        storage: Arc<dyn Storage>,
        memory: BufferSettings,
        watch: &mut Watch<'_>,
    ) -> Result<Self, FlashError> {
        FlashFilter::open_watched(storage, memory, watch)
    }

    fn is_recovered(&self) -> bool {
        FlashFilter::is_recovered(self)
    }

    fn close(self, watch: &mut Watch<'_>) -> Result<(), FlashError> {
        self.close_watched(watch)
    }
}

impl Structure for FlashIndex {
    const KIND: &'static str = "index";
    type Memory = IndexMemory;

    fn open(
        storage: Arc<dyn Storage>,
        memory: IndexMemory,
        watch: &mut Watch<'_>,
    ) -> Result<Self, FlashError> {
        FlashIndex::open_watched(storage, memory, watch)
    }

    fn is_recovered(&self) -> bool {
        self.was_closed()
    }

    fn close(self, watch: &mut Watch<'_>) -> Result<(), FlashError> {
        self.close_watched(watch)
    }
}

/// Opens what is in `folder` to change it, recovering what was acknowledged.
pub(crate) fn open<S: Structure>(folder: &Path, memory: S::Memory) -> Result<S> {
    open_as(folder, Access::Write, memory).map_err(|error| explain_opening::<S>(folder, error))
}

/// Opens what is in `folder` to inspect it. Writes nothing.
pub(crate) fn open_to_read<S: Structure>(folder: &Path, memory: S::Memory) -> Result<S> {
    open_as(folder, Access::Read, memory).map_err(|error| explain_opening::<S>(folder, error))
}

/// Opens what is in `folder` for lookups. Writes nothing, unless its last writer was interrupted. Then that is made good once, so that the
/// next command need not read the log again; where it cannot be, on a read-only file system or with other readers, the log is read.
pub(crate) fn open_to_look_up<S: Structure>(folder: &Path, memory: S::Memory) -> Result<S> {
    let opened: S = open_to_read(folder, memory)?;
    if opened.is_recovered() {
        return Ok(opened);
    }
    drop(opened);
    match open_as::<S>(folder, Access::Write, memory).and_then(|opened| opened.close(&mut closing::<S>())) {
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
        Err(error) => return Err(explain_opening::<S>(folder, error)),
    }
    open_to_read(folder, memory)
}

/// Makes the changes durable and closes what is `open`.
pub(crate) fn close<S: Structure>(open: S) -> Result<()> {
    open.close(&mut closing::<S>()).map_err(explain)
}

fn closing<S: Structure>() -> Watch<'static> {
    drawn(&format!("closing the {}", S::KIND))
}

fn open_as<S: Structure>(folder: &Path, access: Access, memory: S::Memory) -> Result<S, FlashError> {
    let mut step = drawn(&format!("opening {}", folder.display()));
    S::open(FileStorage::shared(folder, access)?, memory, &mut step)
}

fn explain_opening<S: Structure>(folder: &Path, error: FlashError) -> anyhow::Error {
    let kind = S::KIND;
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

/// Whether the error says that a file is not there.
fn is_missing(error: &FlashError) -> bool {
    matches!(error, FlashError::Io { source, .. } if source.kind() == ErrorKind::NotFound)
        || matches!(error, FlashError::NotFound { .. })
}
