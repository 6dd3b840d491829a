//! How large groups and segments may be.

/// Maximum number of units of a group.
pub const MAX_UNITS: u8 = 32;

/// Maximum number of keys that a shape counts.
pub const KEYS_MAX: u32 = (1 << 24) - 1;
