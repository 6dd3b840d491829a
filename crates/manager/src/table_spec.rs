//! The description of a table that a host registers.

use std::sync::Arc;

use springbloom_filter::GroupShape;

use crate::keys::{Comparator, Fences};
use crate::names::{ScopeId, TableId};
use crate::plan::Hotness;
use crate::unit_source::UnitSource;

/// A segment's measured use, in visits made now, and the units it has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SegmentUse {
    /// Measured use; older visits have faded.
    pub hotness: Hotness,
    /// Units that are resident or about to be.
    pub units: u8,
}

/// A table that is being opened.
pub struct TableSpec<'a> {
    /// Identity of the file.
    pub id: TableId,
    /// Column family of a database.
    pub scope: ScopeId,
    /// Level of the tree, 0 for tables that overlap one another; `None` if the host does not know.
    pub level: Option<u8>,
    /// Order of the scope's user keys. One that is not bytewise is the host's code: it is called before this returns, and without a lock.
    /// `None`: it is such a one, and may not be called any more; the table inherits nothing.
    pub comparator: Option<&'a dyn Comparator>,
    /// What was built over each segment, in key order.
    pub shapes: Vec<GroupShape>,
    /// First user key of each segment, as many as `shapes`, and the last user key of the table if it is known.
    pub fences: Fences,
    /// Reads this table's units. The manager keeps it until the table is forgotten or registered with another one, so it must work without
    /// the reader. Tables may share one.
    pub source: Arc<dyn UnitSource>,
    /// Where the source finds the table, in bytes of the host. The same for all readers of the table.
    pub locator: &'a [u8],
    /// Bytes that its index takes in memory, about: it is read and given back as units are. 0: the budget does not pay for it.
    pub index_bytes: usize,
    /// Use of each segment as [`Manager::visit_uses`](crate::Manager::visit_uses) gave it before a restart. Replaces what the table would
    /// inherit, and brings back its units. Ignored if it is not one per segment.
    pub warm_start: Option<Vec<SegmentUse>>,
}

impl TableSpec<'_> {
    /// Whether keys are in the order of their bytes.
    pub(crate) fn is_bytewise(&self) -> bool {
        self.comparator.is_some_and(Comparator::is_bytewise)
    }
}
