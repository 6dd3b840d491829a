//! Filters made of separately loadable units: pure computation, no I/O, no clock, no randomness.
//!
//! A table's keys are cut into segments. Over the keys of one segment stands a [`FilterGroup`]: a few small
//! [filter units](UnitSettings) that each answer "may this key be present?" on their own, with independent errors, so
//! that any *prefix* of the units can be resident in memory and the answer is the AND of those that are (ElasticBF,
//! ATC'19 section 3.2).
//!
//! ```
//! use springbloom_filter::{FilterGroup, KeyDigest, UnitSettings};
//!
//! let digests: Vec<_> = (0..1000u32).map(|i| KeyDigest::of(&i.to_be_bytes())).collect();
//! let built = UnitSettings::default().build(&digests);
//! let first: Vec<&[u8]> = built.units[..6].iter().map(Vec::as_slice).collect();
//! let group = FilterGroup::from_units(built.shape, &first)?;
//! assert!(digests.iter().all(|&digest| group.may_match(digest)));
//! assert!(built.shape.false_positive_rate(6) < 0.016);
//! # Ok::<(), springbloom_filter::FilterError>(())
//! ```
//!
//! Invariants:
//! - no false negative: a digest that was built in matches under every prefix, the empty one included;
//! - units of one group are equally long, and their index streams are independent: n resident units err at the
//!   product of their rates ([`GroupShape::false_positive_rate`]);
//! - bytes are the same on every machine: little-endian words, no dependence on SIMD or pointer width.

mod bloom;
mod digest;
mod error;
mod group;
mod kind;
mod limits;
mod nibbles;
mod ribbon;
mod settings;
mod shape;
mod stream;
mod unsafe_prefetch;

pub use digest::KeyDigest;
pub use error::FilterError;
pub use group::{FilterGroup, GroupLayout, ProbeLayout};
pub use kind::{Probe, UnitKind};
pub use limits::{KEYS_MAX, MAX_UNITS};
pub use settings::{BuiltGroup, GroupBuilder, UnitSettings};
pub use shape::{GroupShape, SHAPE_BYTES};
