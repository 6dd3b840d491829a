//! The fixed header: type and version of the block, and the length of the directory.

use crate::FormatError;
use crate::bytes::{u16_at, u32_at, u64_at};
use crate::checksum::{Covers, checksum, verify};

/// First bytes of every block.
pub const MAGIC: [u8; 8] = *b"SpgBloom";

/// Version that this crate writes, and the newest that it reads.
pub const FORMAT_VERSION: u16 = 1;

/// Bytes of the header.
pub const HEADER_BYTES: usize = 40;

/// Offset of the header's checksum, which covers all bytes before it.
const CHECKSUM_AT: usize = 36;

/// The parsed header of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockHeader {
    /// Bytes of the whole block.
    pub block_bytes: u64,
    /// Bytes of the directory, checksum included. It follows the header.
    pub directory_bytes: u64,
    /// Segments of the table, at least 1.
    pub segment_count: u32,
    /// Units of every segment, at least 1.
    pub unit_count: u8,
    /// Part of the checksums of units, so that units of another block fail the check.
    pub identity: u32,
}

impl BlockHeader {
    /// Reads the header from the first [`HEADER_BYTES`] of `bytes`. Later bytes are ignored.
    pub fn parse(bytes: &[u8]) -> Result<Self, FormatError> {
        let expected = HEADER_BYTES as u64;
        let Some(&magic) = bytes.first_chunk::<8>() else {
            return Err(FormatError::Truncated { part: "header", got: bytes.len() as u64, expected });
        };
        if magic != MAGIC {
            return Err(FormatError::Foreign { got: magic, expected: MAGIC });
        }
        let Some(bytes) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(FormatError::Truncated { part: "header", got: bytes.len() as u64, expected });
        };
        // The version comes before the checksum: a newer version may place its checksum elsewhere.
        let version = u16_at(bytes, 8);
        if version > FORMAT_VERSION {
            return Err(FormatError::NewerVersion { got: version, newest: FORMAT_VERSION });
        }
        verify(Covers::Header, "header", &bytes[..CHECKSUM_AT], u32_at(bytes, CHECKSUM_AT))?;
        let header = Self {
            block_bytes: u64_at(bytes, 16),
            directory_bytes: u64_at(bytes, 24),
            segment_count: u32_at(bytes, 12),
            unit_count: bytes[10],
            identity: u32_at(bytes, 32),
        };
        header.check(version, bytes)?;
        Ok(header)
    }

    /// Checks the fields, since a valid checksum does not exclude impossible values.
    fn check(&self, version: u16, bytes: &[u8; HEADER_BYTES]) -> Result<(), FormatError> {
        let expect = |field, got: u64, expected: u64, holds: bool| match holds {
            true => Ok(()),
            false => Err(FormatError::Inconsistent { part: "header", field, got, expected }),
        };
        expect("version", version.into(), FORMAT_VERSION.into(), version == FORMAT_VERSION)?;
        expect("reserved", bytes[11].into(), 0, bytes[11] == 0)?;
        expect("segment_count", self.segment_count.into(), 1, self.segment_count > 0)?;
        expect("unit_count", self.unit_count.into(), 1, self.unit_count > 0)?;
        let head_bytes = self.directory_bytes.checked_add(HEADER_BYTES as u64);
        let fits = head_bytes.is_some_and(|head_bytes| head_bytes <= self.block_bytes);
        expect("directory_bytes", self.directory_bytes, self.block_bytes, fits)
    }

    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes[10] = self.unit_count;
        bytes[12..16].copy_from_slice(&self.segment_count.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.block_bytes.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.directory_bytes.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.identity.to_le_bytes());
        let sum = checksum(Covers::Header, &bytes[..CHECKSUM_AT]);
        bytes[CHECKSUM_AT..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Bytes to read for [`Directory::parse`](crate::Directory::parse): header and directory.
    pub fn head_bytes(&self) -> u64 {
        // `check` bounds the directory by the block.
        HEADER_BYTES as u64 + self.directory_bytes
    }
}
