//! Lines that cannot be used, and what happened to the others.

use std::io;

use anyhow::Result;
use clap::ValueEnum;
use springbloom_console::bad_input;
use springbloom_console::output::warn;

/// Bad lines that are reported one by one.
const TOLD_MAX: u64 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OnBadLine {
    /// Process the lines before it, then exit with code 2
    Stop,
    /// Report it, skip it, and exit with code 4 at the end
    Skip,
}

/// A bad line.
#[derive(Debug)]
pub(super) struct BadLine {
    pub(super) place: String,
    /// The error and the expected form.
    pub(super) wrong: String,
}

/// Treatment of bad lines, and the number of skipped ones.
pub(super) struct BadLines {
    policy: OnBadLine,
    left_out: u64,
}

impl BadLines {
    pub(super) fn new(policy: OnBadLine) -> Self {
        BadLines { policy, left_out: 0 }
    }

    /// Skips `line`, or gives it back if the command stops at it.
    pub(super) fn meet(&mut self, line: BadLine) -> Option<BadLine> {
        if self.policy == OnBadLine::Stop {
            return Some(line);
        }
        self.left_out += 1;
        match self.left_out {
            ..=TOLD_MAX => warn(format_args!("{}: {}; skipped", line.place, line.wrong)),
            n if n == TOLD_MAX + 1 => warn("further bad lines are only counted"),
            _ => {}
        }
        None
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

/// Result of reading the input.
#[must_use]
pub(crate) struct Taken {
    /// Number of lines passed on.
    pub(crate) lines: u64,
    left_out: u64,
    /// The error that ended the reading early.
    stopped: Option<Stopped>,
}

enum Stopped {
    BadLine(BadLine),
    Unreadable(String, io::Error),
}

impl Taken {
    pub(super) fn new(lines: u64, bad: &BadLines) -> Self {
        Taken { lines, left_out: bad.left_out, stopped: None }
    }

    pub(super) fn stopped_at(self, line: BadLine) -> Self {
        Taken { stopped: Some(Stopped::BadLine(line)), ..self }
    }

    pub(super) fn stopped_by(self, name: String, error: io::Error) -> Self {
        Taken { stopped: Some(Stopped::Unreadable(name, error)), ..self }
    }

    /// Says what happened to the input once the lines that were taken are `done` ("added to the set"): the number of lines left out.
    ///
    /// # Errors
    /// A line or a file at which the command stopped.
    pub(crate) fn end(self, done: &str) -> Result<u64> {
        if self.left_out > 0 {
            warn(format_args!("bad lines skipped: {}", self.left_out));
        }
        let before = before_it(self.lines, done);
        match self.stopped {
            None => Ok(self.left_out),
            Some(Stopped::BadLine(BadLine { place, wrong })) => Err(bad_input(format!(
                "{place}: {wrong}; {before}. Correct the line, or leave such lines out with --on-bad-line skip"
            ))),
            Some(Stopped::Unreadable(name, error)) => {
                Err(anyhow::Error::from(error).context(format!("cannot read {name}; {before}")))
            }
        }
    }
}
