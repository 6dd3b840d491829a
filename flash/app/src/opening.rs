//! Opening and closing a set or an index.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use springbloom_console::bad_input;
use springbloom_console::output::warn;
use springbloom_flash_filter::{BufferSettings, FlashFilter};
use springbloom_flash_index::{FlashIndex, IndexMemory};
use springbloom_page_device::{Access, FileStorage, FlashError, Storage, Watch};

use crate::flash::{drawn, explain};

type Open<S, M> = fn(Arc<dyn Storage>, M, &mut Watch<'_>) -> Result<S, FlashError>;

/// How sets, or indexes, are opened and closed. `M` says how much memory an open one takes.
pub(crate) struct Kind<S, M> {
    /// Its name in messages, and its command.
    name: &'static str,
    open: Open<S, M>,
    /// Whether the last writer closed it.
    is_recovered: fn(&S) -> bool,
    close: fn(S, &mut Watch<'_>) -> Result<(), FlashError>,
}

pub(crate) const SET: Kind<FlashFilter, BufferSettings> = Kind {
    name: "set",
    open: FlashFilter::open_watched,
    is_recovered: FlashFilter::is_recovered,
    close: FlashFilter::close_watched,
};

pub(crate) const INDEX: Kind<FlashIndex, IndexMemory> = Kind {
    name: "index",
    open: FlashIndex::open_watched,
    is_recovered: FlashIndex::was_closed,
    close: FlashIndex::close_watched,
};

impl<S, M: Copy> Kind<S, M> {
    /// Opens what is in `folder` to change it, recovering what was acknowledged.
    pub(crate) fn open(&self, folder: &Path, memory: M) -> Result<S> {
        self.open_as(folder, Access::Write, memory).map_err(|error| self.explain(folder, error))
    }

    /// Opens what is in `folder` to inspect it. Writes nothing.
    pub(crate) fn open_to_read(&self, folder: &Path, memory: M) -> Result<S> {
        self.open_as(folder, Access::Read, memory).map_err(|error| self.explain(folder, error))
    }

    /// Opens what is in `folder` for lookups. Writes nothing, unless its last writer was interrupted. Then that is made good once, so that
    /// the next command need not read the log again; where it cannot be, on a read-only file system or with other readers, the log is read.
    pub(crate) fn open_to_look_up(&self, folder: &Path, memory: M) -> Result<S> {
        let opened = self.open_to_read(folder, memory)?;
        if (self.is_recovered)(&opened) {
            return Ok(opened);
        }
        drop(opened);
        let opened = self.open_as(folder, Access::Write, memory);
        match opened.and_then(|opened| (self.close)(opened, &mut self.closing())) {
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
            Err(error) => return Err(self.explain(folder, error)),
        }
        self.open_to_read(folder, memory)
    }

    /// Makes the changes durable and closes what is `open`.
    pub(crate) fn close(&self, open: S) -> Result<()> {
        (self.close)(open, &mut self.closing()).map_err(explain)
    }

    fn closing(&self) -> Watch<'static> {
        drawn(&format!("closing the {}", self.name))
    }

    fn open_as(&self, folder: &Path, access: Access, memory: M) -> Result<S, FlashError> {
        let mut step = drawn(&format!("opening {}", folder.display()));
        (self.open)(FileStorage::shared(folder, access)?, memory, &mut step)
    }

    fn explain(&self, folder: &Path, error: FlashError) -> anyhow::Error {
        let kind = self.name;
        match error {
            FlashError::Incomplete { .. } => {
                bad_input(format!("{error}, or see `springflash {kind} repair --help`"))
            }
            _ if error.is_missing() => {
                let folder = folder.display();
                bad_input(format!("{folder} holds no {kind}; create one with `springflash {kind} create`"))
            }
            _ => explain(error),
        }
    }
}
