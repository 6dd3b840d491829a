//! Records of measurements.
//!
//! A [`Record`] has the figures of one run of one program, with all that a reader needs to judge or repeat it. It is one JSON document.

#![deny(unsafe_code)]

mod bench;
mod command_line;
mod distinct;
mod figure;
mod files;
mod machine;
mod other_work;
mod record;
mod run;

pub use bench::{Bench, Figures, RECORD_VARIABLE};
pub use command_line::command_line;
pub use distinct::{distinct, repeated};
pub use figure::{Figure, Labels, Unit, labels};
pub use files::{require_regular, write_whole};
pub use machine::{Build, Machine};
pub use record::{FORMAT, Record};
pub use run::Clock;
