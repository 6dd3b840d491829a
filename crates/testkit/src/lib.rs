//! What the tests of every crate share: seeds that can be repeated, and tolerances that come from statistics.
//!
//! A development dependency only; nothing here may be needed to run the product.

pub mod binomial;
pub mod chi_square;
pub mod damage;
pub mod fio;
pub mod kill;
pub mod machine;
pub mod seed;
pub mod spread;

/// Chance that a correct program fails one statistical assertion. Small enough that a suite with thousands of
/// assertions and a fresh seed on every run stays quiet for years; large enough to catch a rate that is off by
/// seven standard deviations.
pub const FALSE_ALARM: f64 = 1e-12;
