//! Which keys a table and its segments hold, in the order of the host.

mod fences;
mod key_range;

pub use fences::{BytewiseComparator, Comparator, Fences};
pub(crate) use fences::{Fence, FencesRef};
pub(crate) use key_range::KeyRange;
