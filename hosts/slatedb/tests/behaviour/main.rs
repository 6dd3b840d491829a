//! One program, because SlateDB takes long to compile into each.

mod day;
mod lifetimes;
mod outages;
mod outcomes;
#[path = "../support/mod.rs"]
mod support;
mod sweeps;
