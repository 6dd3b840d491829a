//! Where units come from: the host's blocking reads of a table's filter block.

use springbloom_filter::GroupShape;

/// Why a unit could not be had. Either way the segment answers "may match" with the units it has.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnitReadError {
    /// The device or the file system failed; tried again later, a few times.
    #[error("reading a filter unit failed")]
    Io(#[source] std::io::Error),
    /// The bytes are not what was written (checksum, length); never tried again for this segment.
    #[error("filter unit is corrupt: {0}")]
    Corrupt(String),
    /// The table's file was deleted: nobody will look its keys up again. Not a fault, and not counted as one.
    #[error("the table's file is gone")]
    Gone,
}

/// Takes a segment's number with the verified bytes of its unit, or with what is wrong with them.
pub type RowVisitor<'a> = &'a mut (dyn FnMut(u32, Result<&[u8], UnitReadError>) + 'a);

/// The units of one table, read on request. Called by the manager's background thread alone, never on the lookup path,
/// so it may block; it should not panic, but a panic is contained and counted as a failed read. The manager keeps the shapes of all segments
/// and brings them along.
pub trait UnitSource: Send + Sync {
    /// Bytes that the host keeps as long as the table is known, this source included if it is the table's own: the budget pays for them.
    /// The same for every source of the table. Nothing, unless the host says otherwise.
    fn host_bytes(&self) -> usize {
        0
    }

    /// The verified bytes of unit `unit` of segment `segment`, exactly as they were built.
    fn read_unit(&self, segment: u32, unit: u8, shapes: &[GroupShape]) -> Result<Vec<u8>, UnitReadError>;

    /// Unit `unit` of every segment of the table, ideally in one read: calls `visit` once per
    /// segment with the verified bytes or with what is wrong with them. An error means that nothing further is visited.
    fn read_row(&self, unit: u8, shapes: &[GroupShape], visit: RowVisitor<'_>) -> Result<(), UnitReadError> {
        for segment in 0..shapes.len() as u32 {
            match self.read_unit(segment, unit, shapes) {
                Ok(bytes) => visit(segment, Ok(&bytes)),
                Err(error) => visit(segment, Err(error)),
            }
        }
        Ok(())
    }
}
