//! Command-line input and output that Springbloom's programs share: sizes, messages, progress, tables, signals, exit codes.

#![deny(unsafe_code)]

pub mod failure;
pub mod folder;
pub mod output;
mod percent;
pub mod proc;
pub mod program;
mod progress;
pub mod signals;
pub mod sizes;
mod text_table;
mod unprintable;

pub use failure::{BadInput, bad_input};
pub use percent::percent;
pub use progress::Step;
pub use text_table::{Column, TextTable};
pub use unprintable::{escaped, is_unprintable};
