//! Reads filter units out of a table file, for the manager's background thread.

use std::{io, ops::Range};

use springbloom_format::{FormatError, UnitLayout};
use springbloom_manager::{UnitReadError, UnitSource};

use crate::ffi::BlockFile;

/// The filter block of one table file.
#[derive(Debug)]
pub(crate) struct FileSource {
    file: BlockFile,
    layout: UnitLayout,
}

impl FileSource {
    pub(crate) fn new(file: BlockFile, layout: UnitLayout) -> Self {
        Self { file, layout }
    }

    /// Whether the table's file is still there. Touches the file system.
    pub(crate) fn exists(&self) -> bool {
        self.file.exists()
    }

    fn read(&self, span: Range<u64>) -> Result<Vec<u8>, UnitReadError> {
        let size = usize::try_from(span.end - span.start).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).map_err(|error| UnitReadError::Io(io::Error::other(error)))?;
        bytes.resize(size, 0);
        match self.file.read(span.start, &mut bytes) {
            true => Ok(bytes),
            // Of a table whose reader was closed before the file was deleted.
            false if !self.exists() => Err(UnitReadError::Gone),
            false => Err(UnitReadError::Io(io::Error::other("RocksDB's file system failed"))),
        }
    }
}

impl UnitSource for FileSource {
    fn read_unit(&self, segment: u32, unit: u8) -> Result<Vec<u8>, UnitReadError> {
        let bytes = self.read(self.layout.unit_span(segment, unit))?;
        self.layout.decode_unit(segment, unit, &bytes).map(<[u8]>::to_vec).map_err(corrupt)
    }

    fn read_row(
        &self,
        unit: u8,
        _segments: u32,
        visit: &mut dyn FnMut(u32, Result<&[u8], UnitReadError>),
    ) -> Result<(), UnitReadError> {
        let bytes = self.read(self.layout.row_span(unit))?;
        for (segment, unit) in self.layout.decode_row(unit, &bytes) {
            visit(segment, unit.map_err(corrupt));
        }
        Ok(())
    }
}

fn corrupt(error: FormatError) -> UnitReadError {
    UnitReadError::Corrupt(error.to_string())
}
