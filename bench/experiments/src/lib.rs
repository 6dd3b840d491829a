//! The experiments of the papers, measured again.
//!
//! - `catalogue`: the experiments, from `catalogue/`: what each paper reports and how it is measured here;
//! - `experiment`, `run`, `formula`: what an experiment is made of;
//! - `record_store`: the records of runs, in a folder; `former_names`: what they call otherwise;
//! - `verdict`: whether what the paper reports holds;
//! - `tables`: what is compared with no paper;
//! - `reproduce`: `springbloom reproduce`;
//! - `report`, `markdown`: `springbloom report`.

#![deny(unsafe_code)]

mod catalogue;
mod experiment;
mod former_names;
mod formula;
mod markdown;
mod reason;
mod record_store;
mod report;
mod reproduce;
mod run;
mod tables;
mod verdict;

pub use report::Report;
pub use reproduce::Reproduce;
