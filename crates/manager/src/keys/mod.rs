//! Which keys a table and its segments hold, in the order of the host.

mod fences;
mod key_range;

pub(crate) use fences::Fence;
pub use fences::{BytewiseOrder, Fences, FencesRef, KeyOrder};
pub(crate) use key_range::KeyRange;
