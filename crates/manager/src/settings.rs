//! Settings of a manager.

/// Settings of a [`Manager`](crate::Manager); `Default` and functional update are the way to make one.
#[derive(Clone, Debug, PartialEq)]
pub struct ManagerSettings {
    /// Ceiling of everything that the manager holds, in bytes. 0 is allowed: no filters at all.
    pub budget_bytes: usize,
    /// Visits in which measured use loses half its weight. `None`: 64 per segment.
    pub half_life_visits: Option<u64>,
    /// What the host keeps for a reader of a table as long as it is open, in bytes: the budget pays for it.
    pub reader_bytes: usize,
    /// What the host keeps for a known table, whether it is open or not.
    pub table_bytes: usize,
    /// Whether a new table starts with the hotness of the segments whose keys it holds (ATC'19 section 3.3).
    pub inherit_hotness: bool,
}

impl Default for ManagerSettings {
    fn default() -> Self {
        Self {
            budget_bytes: 64 << 20,
            half_life_visits: None,
            reader_bytes: 0,
            table_bytes: 0,
            inherit_hotness: true,
        }
    }
}
