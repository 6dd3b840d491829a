//! Errors of filter blocks and hotness files.

use springbloom_filter::FilterError;
use thiserror::Error;

/// An error of this crate. Lookups treat each of them as "may match" and count it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FormatError {
    /// Fewer bytes than the part needs: read more, or the file is too short.
    #[error("{part} is cut off: got {got} bytes, expected {expected}")]
    Truncated {
        /// Which part of the block.
        part: &'static str,
        /// Bytes given.
        got: u64,
        /// Bytes needed.
        expected: u64,
    },
    /// The bytes do not begin with the magic number, so Springbloom did not write them.
    #[error("not written by Springbloom: magic is {got:02x?}, expected {expected:02x?}")]
    Foreign {
        /// First bytes found.
        got: [u8; 8],
        /// Magic number of the format.
        expected: [u8; 8],
    },
    /// A newer version wrote it. A table is then used without filters, and a start is cold.
    #[error("version {got} is newer than {newest}, the newest that this version reads")]
    NewerVersion {
        /// Version found.
        got: u16,
        /// Newest version that can be read.
        newest: u16,
    },
    /// The bytes have changed since they were written.
    #[error("{part} is damaged: checksum is {got:#010x}, expected {expected:#010x}")]
    Checksum {
        /// Which part of the block.
        part: &'static str,
        /// Checksum of the bytes given.
        got: u32,
        /// Checksum stored with them.
        expected: u32,
    },
    /// A field with a valid checksum and an impossible value.
    #[error("{part}: `{field}` is {got}, expected {expected}")]
    Inconsistent {
        /// Which part of the block.
        part: &'static str,
        /// Which field.
        field: &'static str,
        /// Value found.
        got: u64,
        /// The required value, or its bound.
        expected: u64,
    },
    /// The shape of a segment is not usable, for instance of a kind that a newer version added.
    #[error("shape of segment {segment} cannot be read")]
    Shape {
        /// Index of the segment.
        segment: u32,
        /// The error of the shape.
        #[source]
        source: FilterError,
    },
}
