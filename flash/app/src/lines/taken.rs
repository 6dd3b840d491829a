//! How reading the input ended.

use std::io;

use anyhow::{Error, Result};
use springbloom_console::bad_input;

/// Where a command stopped reading.
#[derive(Debug)]
pub(super) enum Stopped {
    /// At a line that it cannot use: where, the error, and the expected form.
    BadLine(String),
    /// At an input, by its name.
    Unreadable(String, io::Error),
}

/// Result of reading the input.
#[must_use]
pub(crate) struct Taken {
    /// Number of lines passed on.
    pub(crate) lines: u64,
    pub(super) stopped: Option<Stopped>,
}

impl Taken {
    /// Returns an error if the command stopped at a line or a file. It says that the lines before were `done` ("added to the set").
    pub(crate) fn end(self, done: &str) -> Result<()> {
        let before = before_it(self.lines, done);
        match self.stopped {
            None => Ok(()),
            Some(Stopped::BadLine(wrong)) => {
                Err(bad_input(format!("{wrong}; {before}. Correct or remove the line")))
            }
            Some(Stopped::Unreadable(name, error)) => {
                Err(Error::from(error).context(format!("cannot read {name}; {before}")))
            }
        }
    }
}

/// What happened to the `lines` before one at which a command stopped.
pub(crate) fn before_it(lines: u64, done: &str) -> String {
    match lines {
        0 => format!("no line was {done}"),
        1 => format!("the line before it was {done}"),
        lines => format!("the {lines} lines before it were {done}"),
    }
}
