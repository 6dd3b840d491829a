//! Published policies for filter units, which experiments compare with Springbloom's own, by name.
//!
//! Those in [`PolicyKind`] see and change what `benefit` does: the [`Allocation`](springbloom_manager::Allocation) of a manager.
//! [`System`] has the settings of the papers; [`bits_per_level`] is Monkey for filters that stay as they are.

#![forbid(unsafe_code)]

mod level_bits;
mod lists;
mod monkey;
mod multi_queue;
mod policy_kind;
mod sorted_runs;
mod system;
mod uniform;

/// Segments that one call of a policy may change.
const CHANGES_MAX: usize = 256;

pub use level_bits::{Level, StockFilter, bits_per_level};
pub use policy_kind::PolicyKind;
pub use system::System;
