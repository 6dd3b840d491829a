//! Published policies for filter units, which experiments compare with Springbloom's own, by name.
//!
//! They see and change what `benefit` does: the [`Allocation`](springbloom_manager::Allocation) of a manager.

#![forbid(unsafe_code)]

mod lists;
mod monkey;
mod multi_queue;
mod policy_kind;
mod sorted_runs;
mod uniform;

/// Segments that one call of a policy may change.
const CHANGES_MAX: usize = 256;

pub use policy_kind::{PolicyKind, UnknownPolicy};
