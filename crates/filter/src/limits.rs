//! How large a group can be.

/// Most units that a group can have.
pub const MAX_UNITS: u8 = 32;

/// Most keys that a shape counts.
pub const KEYS_MAX: u32 = (1 << 24) - 1;
