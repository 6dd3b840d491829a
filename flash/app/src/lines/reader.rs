//! Lines one after the other, never more of one in memory than a line may have.

use std::io::{BufRead, Read};

use super::taken::Stopped;

/// Longest line, without its end.
pub(super) const LINE_BYTES_MAX: usize = 1 << 20;

/// Reads lines and counts them.
pub(super) struct LineReader<'i> {
    input: Box<dyn BufRead + 'i>,
    pub(super) name: &'i str,
    separator: u8,
    /// Of the line that was read last, from 1.
    pub(super) number: u64,
}

/// Where a line is, in words.
pub(super) fn place(name: &str, number: u64) -> String {
    format!("{name}, line {number}")
}

impl<'i> LineReader<'i> {
    pub(super) fn new(input: Box<dyn BufRead + 'i>, name: &'i str, separator: u8) -> Self {
        LineReader { input, name, separator, number: 0 }
    }

    /// Appends the next line to `bytes`, without its end. Of one that is too long, only the beginning is read. Returns whether there is
    /// one.
    pub(super) fn next_line(&mut self, bytes: &mut Vec<u8>) -> Result<bool, Stopped> {
        let start = bytes.len();
        let end_bytes = if self.separator == b'\n' { b"\r\n".len() } else { 1 };
        let mut limited = (&mut *self.input).take((LINE_BYTES_MAX + end_bytes) as u64);
        match limited.read_until(self.separator, bytes) {
            Ok(0) => return Ok(false),
            Ok(_) => {}
            Err(error) => return Err(Stopped::Unreadable(self.name.to_owned(), error)),
        }
        self.number += 1;
        if bytes.last() == Some(&self.separator) {
            bytes.pop();
            if self.separator == b'\n' && bytes[start..].ends_with(b"\r") {
                bytes.pop();
            }
        }
        if bytes.len() - start > LINE_BYTES_MAX {
            let place = place(self.name, self.number);
            return Err(Stopped::BadLine(format!("{place}: the line is longer than {LINE_BYTES_MAX} bytes")));
        }
        Ok(true)
    }
}
