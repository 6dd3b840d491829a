//! Where units come from: the host's blocking reads of a table's filter block.

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

/// What a host keeps for a table, in bytes: the budget pays for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostBytes {
    /// As long as the table is known. The same for every source of the table.
    pub table: usize,
    /// For each reader that has it open.
    pub reader: usize,
}

/// The units of one table, read on request. Called by the manager's background thread alone, never on the lookup path,
/// so it may block; it should not panic, but a panic is contained and counted as a failed read.
pub trait UnitSource: Send + Sync {
    /// What the host keeps for the table, this source included if it is the table's own. Nothing, unless the host says otherwise.
    fn host_bytes(&self) -> HostBytes {
        HostBytes::default()
    }

    /// The verified bytes of unit `unit` of segment `segment`, exactly as they were built.
    fn read_unit(&self, segment: u32, unit: u8) -> Result<Vec<u8>, UnitReadError>;

    /// Unit `unit` of every segment of the table (there are `segments`), ideally in one read: calls `visit` once per
    /// segment with the verified bytes or with what is wrong with them. An error means that nothing further is visited.
    fn read_row(&self, unit: u8, segments: u32, visit: RowVisitor<'_>) -> Result<(), UnitReadError> {
        for segment in 0..segments {
            match self.read_unit(segment, unit) {
                Ok(bytes) => visit(segment, Ok(&bytes)),
                Err(error) => visit(segment, Err(error)),
            }
        }
        Ok(())
    }
}
