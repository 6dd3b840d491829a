//! Who decides which units are resident: one file per policy behind one trait.

mod kind;

pub use kind::PolicyKind;
