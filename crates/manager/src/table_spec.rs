//! The description of a table that a host registers.

use std::sync::Arc;

use springbloom_filter::GroupShape;

use crate::{Fences, Hotness, KeyOrder, ScopeId, TableId, UnitSource};

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
    /// Order of the scope's user keys; used while the table is registered, and not kept.
    pub order: &'a dyn KeyOrder,
    /// What was built over each segment, in key order.
    pub shapes: Vec<GroupShape>,
    /// First user key of each segment, as many as `shapes`, and the last user key of the table if it is known.
    pub fences: Fences,
    /// Reads this table's units; kept until another reader of the table brings another one or the table is forgotten, so it must work
    /// without the reader. Tables that have theirs in common share it.
    pub source: Arc<dyn UnitSource>,
    /// Where the source finds the table, and what else the host keeps of it: the same for all its readers.
    pub locator: &'a [u8],
    /// Unit 0 of each segment, if the builder of the table handed them over: used without I/O where they fit.
    pub first_units: Option<Vec<Option<Vec<u8>>>>,
    /// Use of each segment as [`Manager::table_use`](crate::Manager::table_use) once gave it: goes before what the table would inherit,
    /// and brings back the units it had. Ignored if it is not one per segment.
    pub warm_start: Option<Vec<SegmentUse>>,
}
