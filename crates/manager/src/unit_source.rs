//! Where units come from: the host's blocking reads of a table's filter block.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use springbloom_filter::GroupShape;
use springbloom_index::PackedIndex;

use crate::interned::Interned;
use crate::names::TableId;

/// Why a unit could not be read. The segment goes on with the units it has.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnitReadError {
    /// The device or the file system failed; tried again until it works.
    #[error("reading a filter unit failed")]
    Io(#[source] std::io::Error),
    /// The bytes are not what was written (checksum, length). The segment does without, and is tried again within half a minute.
    #[error("filter unit is corrupt: {0}")]
    Corrupt(String),
    /// The table's file is not there. Not counted as a fault: engines delete files. Tried again until the host forgets the table.
    #[error("the table's file is gone")]
    Gone,
}

/// Takes the numbers of a segment and of a unit with the verified bytes of the unit, or with what is wrong with them.
pub type UnitVisitor<'a> = &'a mut (dyn FnMut(u32, u8, Result<&[u8], UnitReadError>) + 'a);

/// What the manager keeps of a table for its source.
#[derive(Clone, Copy, Debug)]
pub struct TableUnits<'a> {
    /// The table's [slot](crate::TableHandle::slot).
    pub slot: u32,
    /// What the table was [registered](crate::TableSpec::locator) with.
    pub locator: &'a [u8],
    /// Shapes of all its segments.
    pub shapes: &'a [GroupShape],
}

/// Where an access to files goes, so that what hangs leaves threads to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The device, or what stands for it. Below 2^63.
    pub device: u64,
    /// Whose files: those of one database, for example. Below 2^63.
    pub source: u64,
}

impl Place {
    /// Of a source that tells none: with a device of its own.
    pub(crate) fn of_source(number: u32) -> Self {
        let own = 1 << 63 | u64::from(number);
        Self { device: own, source: own }
    }
}

/// Reads units of tables. The threads that touch files call it, several at the same time where reads take long. Lookups never do,
/// so it may block. A panic is caught and counts as a failed read. Many tables share one source: the manager passes what belongs to the
/// table.
pub trait UnitSource: Any + Send + Sync {
    /// Where its reads go. `None`: to a device of their own. Must not block.
    fn place(&self) -> Option<Place> {
        None
    }

    /// The verified bytes of unit `unit` of segment `segment`, exactly as they were built.
    fn read_unit(&self, table: TableUnits<'_>, segment: u32, unit: u8) -> Result<Vec<u8>, UnitReadError>;

    /// The whole index of the table in this [slot](crate::TableHandle::slot), which a reader has open.
    fn read_index(&self, _slot: u32) -> Result<PackedIndex, UnitReadError> {
        Err(UnitReadError::Gone)
    }

    /// Units `units` of every segment of the table, ideally in one read: calls `visit` once for each with the verified bytes or with what
    /// is wrong with them, a segment's units in order. An error means that nothing further is visited.
    fn read_rows(
        &self,
        table: TableUnits<'_>,
        units: Range<u8>,
        visit: UnitVisitor<'_>,
    ) -> Result<(), UnitReadError> {
        for unit in units {
            for segment in 0..table.shapes.len() as u32 {
                match self.read_unit(table, segment, unit) {
                    Ok(bytes) => visit(segment, unit, Ok(&bytes)),
                    Err(error) => visit(segment, unit, Err(error)),
                }
            }
        }
        Ok(())
    }
}

/// The sources of all tables: few.
pub(crate) type Sources = Interned<Arc<dyn UnitSource>>;

/// A known table, for the host that it is from.
#[derive(Clone, Copy)]
pub struct KnownTable<'a> {
    /// Identity of the table.
    pub id: TableId,
    /// Reads its units.
    pub source: &'a Arc<dyn UnitSource>,
    /// Where its source finds it.
    pub locator: &'a [u8],
    /// Whether some reader has it open.
    pub is_open: bool,
}
