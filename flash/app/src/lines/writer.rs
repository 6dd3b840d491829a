//! Lines on standard output, ended as those of the input are.

use std::io::Write;

use anyhow::Result;
use springbloom_console::output::Output;

/// Prints lines and counts them.
pub(crate) struct LineWriter {
    out: Output,
    separator: u8,
    /// Lines printed.
    pub(crate) printed: u64,
}

impl LineWriter {
    pub(super) fn new(separator: u8) -> Self {
        LineWriter { out: Output::stdout(), separator, printed: 0 }
    }

    /// Whether `line`, read again, would be the same line.
    pub(crate) fn holds(&self, line: &[u8]) -> bool {
        let loses_its_end = self.separator == b'\n' && line.ends_with(b"\r");
        !loses_its_end && !line.contains(&self.separator)
    }

    pub(crate) fn print(&mut self, line: &[u8]) -> Result<()> {
        self.printed += 1;
        self.out.write_all(line)?;
        Ok(self.out.write_all(&[self.separator])?)
    }

    /// Prints a number; like `grep -zc`, as a line whatever ends lines.
    pub(crate) fn print_count(&mut self, count: u64) -> Result<()> {
        Ok(writeln!(self.out, "{count}")?)
    }

    /// Flushes the output. Returns `false` if its reader is gone.
    pub(crate) fn flush(&mut self) -> Result<bool> {
        self.out.flush()?;
        Ok(!self.out.is_closed())
    }
}
