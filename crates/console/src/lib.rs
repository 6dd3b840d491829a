//! What Springbloom's programs share towards people: sizes on the command line, output, progress, tables and pictures.

#![deny(unsafe_code)]

mod bad_input;
pub mod output;
pub mod picture;
pub mod proc;
mod progress;
pub mod sizes;
mod text_table;

pub use bad_input::{BadInput, bad_input};
pub use progress::Step;
pub use text_table::TextTable;
