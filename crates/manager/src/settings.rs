//! Settings of a manager.

use crate::policy_kind::PolicyKind;

/// Settings of a [`Manager`](crate::Manager); `Default` and functional update are the way to make one.
#[derive(Clone, Debug, PartialEq)]
pub struct ManagerSettings {
    /// Ceiling of everything that the manager holds, in bytes. 0 is allowed: no filters at all.
    pub budget_bytes: usize,
    /// Who decides which units are resident.
    pub policy: PolicyKind,
    /// Multi-Queue: visits of other segments after which an unused segment expires (ATC'19 section 3.3). `None`: as many as there are
    /// segments, the paper's advice.
    pub segment_lifetime_visits: Option<u64>,
    /// Visits in which measured use loses half its weight. `None`: 64 per segment.
    pub half_life_visits: Option<u64>,
    /// What the host keeps for a reader of a table as long as it is open, in bytes: the budget pays for it.
    pub reader_bytes: usize,
    /// Whether part of the budget is a negative cache: absent keys that the units let pass.
    pub negative_cache: bool,
    /// Whether a new table starts with the hotness of the segments whose keys it holds (ATC'19 section 3.3).
    pub inherit_hotness: bool,
}

impl Default for ManagerSettings {
    fn default() -> Self {
        Self {
            budget_bytes: 64 << 20,
            policy: PolicyKind::Benefit,
            segment_lifetime_visits: None,
            half_life_visits: None,
            reader_bytes: 0,
            negative_cache: true,
            inherit_hotness: true,
        }
    }
}
