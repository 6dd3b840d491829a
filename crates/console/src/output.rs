//! Standard output and standard error of the program.
//!
//! A closed pipe (`| head`) is not an error: further output is discarded, and the command finishes its work. Commands that print as long as
//! there is input check [`Output::is_closed`] and stop.

use std::env;
use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, StdoutLock, Write};
use std::path::Path;

use anyhow::Result;
use serde::Serialize;

/// A writer to the reader of the output, buffered. Once that has closed the pipe, writes succeed and are discarded.
pub struct Output<W: Write = StdoutLock<'static>> {
    out: BufWriter<W>,
    is_gone: bool,
}

impl Output {
    /// The standard output of this process, locked.
    pub fn stdout() -> Self {
        Output { out: BufWriter::new(io::stdout().lock()), is_gone: false }
    }

    /// Whether the reader has closed the pipe. Known after a flush.
    pub fn is_closed(&self) -> bool {
        self.is_gone
    }
}

/// Prints a report on standard output.
pub fn report(write: impl FnOnce(&mut Output) -> Result<()>) -> Result<()> {
    let mut out = Output::stdout();
    write(&mut out)?;
    Ok(out.flush()?)
}

/// Prints one JSON document on standard output.
pub fn json(document: &impl Serialize) -> Result<()> {
    report(|out| {
        serde_json::to_writer_pretty(&mut *out, document)?;
        Ok(writeln!(out)?)
    })
}

/// Prints a message on standard error, ignoring errors.
pub fn tell(message: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{message}");
}

/// Prints a warning on standard error, after the name of the program.
pub fn warn(message: impl Display) {
    let started_as = env::args_os().next().unwrap_or_default();
    let program = Path::new(&started_as).file_name().unwrap_or_default();
    tell(format_args!("{}: {message}", program.display()));
}

impl<W: Write> Output<W> {
    /// `result`, or `instead` if the pipe is closed.
    fn unless_gone<T>(&mut self, result: io::Result<T>, instead: T) -> io::Result<T> {
        result.or_else(|error| match error.kind() {
            ErrorKind::BrokenPipe => {
                self.is_gone = true;
                Ok(instead)
            }
            ErrorKind::Interrupted => Err(error),
            kind => Err(io::Error::new(kind, format!("cannot write to standard output: {error}"))),
        })
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_gone {
            return Ok(bytes.len());
        }
        let written = self.out.write(bytes);
        self.unless_gone(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_gone {
            return Ok(());
        }
        let flushed = self.out.flush();
        self.unless_gone(flushed, ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails with the same error, always.
    struct Failing(ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_reader_that_went_away_is_no_error_and_a_full_disk_is() {
        let unbuffered = |kind| Output { out: BufWriter::with_capacity(0, Failing(kind)), is_gone: false };
        let mut gone = unbuffered(ErrorKind::BrokenPipe);
        assert!(gone.write_all(b"text").is_ok() && gone.is_gone && gone.flush().is_ok());
        let mut full = unbuffered(ErrorKind::StorageFull);
        let error = full.write_all(b"text").unwrap_err();
        assert!(error.to_string().starts_with("cannot write to standard output: "), "{error}");
        assert!(full.flush().is_err() && !full.is_gone);
    }
}
