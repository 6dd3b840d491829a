//! Lines one after the other, never more of one in memory than a line may have.

use std::io::{self, BufRead, Read};

/// Longest line, without its end.
pub(super) const LINE_BYTES_MAX: usize = 1 << 20;

/// Result of reading a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Line,
    TooLong,
    End,
}

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

    /// Appends the next line to `bytes`, without its end. Of one that is too long, only the beginning is read.
    pub(super) fn next_line(&mut self, bytes: &mut Vec<u8>) -> io::Result<Next> {
        let start = bytes.len();
        let end_bytes = if self.separator == b'\n' { b"\r\n".len() } else { 1 };
        let mut limited = (&mut *self.input).take((LINE_BYTES_MAX + end_bytes) as u64);
        if limited.read_until(self.separator, bytes)? == 0 {
            return Ok(Next::End);
        }
        self.number += 1;
        if bytes.last() == Some(&self.separator) {
            bytes.pop();
            if self.separator == b'\n' && bytes[start..].ends_with(b"\r") {
                bytes.pop();
            }
        }
        Ok(if bytes.len() - start <= LINE_BYTES_MAX { Next::Line } else { Next::TooLong })
    }
}
