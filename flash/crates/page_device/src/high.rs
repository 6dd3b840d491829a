//! Descriptors that no program takes for its standard input, output or error.
//!
//! In a program that was started without one of these, a file that is opened gets its number. A program that then points its standard error
//! at a log would close the lock of a folder, or one that prints would write into a filter.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// The first number that is none of the three.
const FIRST: RawFd = 3;

pub(crate) fn is_high(descriptor: &impl AsRawFd) -> bool {
    descriptor.as_raw_fd() >= FIRST
}

/// The same open file, with a number above those of the three.
pub(crate) fn high(file: File) -> io::Result<File> {
    if is_high(&file) {
        return Ok(file);
    }
    Ok(rustix::io::fcntl_dupfd_cloexec(&file, FIRST)?.into())
}
