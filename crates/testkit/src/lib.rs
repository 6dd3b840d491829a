//! Shared by the tests of all crates: repeatable seeds, and statistical bounds.
//!
//! A development dependency only. The product must not need it.

pub mod binomial;
pub mod chi_square;
pub mod cpu_time;
pub mod damage;
pub mod fio;
pub mod header;
pub mod kill;
pub mod machine;
pub mod modules;
pub mod seed;

/// Probability that a correct program fails one statistical assertion. With it, a suite of thousands of assertions and fresh seeds stays
/// quiet for years, and still notices a rate that is off by seven standard deviations.
pub const FALSE_ALARM: f64 = 1e-12;
