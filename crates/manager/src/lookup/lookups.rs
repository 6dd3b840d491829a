//! What all open tables share.

use std::sync::Arc;

use crate::budget::MemoryBudget;
use crate::visits::VisitBuffer;

/// Shared by the handles of all tables.
pub(crate) struct Lookups {
    pub visits: Arc<VisitBuffer>,
    pub budget: MemoryBudget,
    /// Reserved for what the host keeps for a reader.
    pub reader_bytes: usize,
}
