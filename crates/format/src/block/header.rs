//! The fixed header: type and version of the block, and the length of the directory.

use crate::FormatError;
use crate::bytes::{u16_at, u32_at, u64_at};
use crate::checksum::{Covers, checksum, verify};

/// First bytes of every block.
pub const MAGIC: [u8; 8] = *b"SpgBloom";

/// The newest version that this crate reads. It writes the oldest one that has the block's [`Contents`].
pub const FORMAT_VERSION: u16 = 2;

/// Bytes of the header.
pub const HEADER_BYTES: usize = 40;

/// Offset of the code of the contents.
const CONTENTS_AT: usize = 11;

/// Offset of the header's checksum, which covers all bytes before it.
const CHECKSUM_AT: usize = 36;

/// What the units of a block are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// The table's keys. Version 1 knows nothing else.
    Keys,
    /// The table's keys, and the table has a block of prefixes too, which follows.
    KeysBeforePrefixes,
    /// The prefixes of the table's keys.
    Prefixes,
}

impl Contents {
    /// Version of a block, and its code there.
    const fn version_and_code(self) -> (u16, u8) {
        match self {
            Self::Keys => (1, 0),
            Self::KeysBeforePrefixes => (2, 1),
            Self::Prefixes => (2, 2),
        }
    }

    fn of(version: u16, code: u8) -> Option<Self> {
        let all = [Self::Keys, Self::KeysBeforePrefixes, Self::Prefixes];
        all.into_iter().find(|contents| contents.version_and_code() == (version, code))
    }
}

/// The parsed header of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockHeader {
    /// Bytes of the whole block, with the block of prefixes that may follow.
    pub block_bytes: u64,
    /// Bytes of the directory, checksum included. It follows the header.
    pub directory_bytes: u64,
    /// Segments of the table, at least 1.
    pub segment_count: u32,
    /// Units of every segment, at least 1.
    pub unit_count: u8,
    /// Part of the checksums of units, so that units of another block fail the check.
    pub identity: u32,
    /// What the units are over.
    pub contents: Contents,
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
        if version == 0 {
            let field = "version";
            return Err(FormatError::Inconsistent { part: "header", field, got: 0, expected: 1 });
        }
        let Some(contents) = Contents::of(version, bytes[CONTENTS_AT]) else {
            let (got, expected) = (bytes[CONTENTS_AT].into(), u64::from(version - 1));
            return Err(FormatError::Inconsistent { part: "header", field: "contents", got, expected });
        };
        let header = Self {
            block_bytes: u64_at(bytes, 16),
            directory_bytes: u64_at(bytes, 24),
            segment_count: u32_at(bytes, 12),
            unit_count: bytes[10],
            identity: u32_at(bytes, 32),
            contents,
        };
        header.check()?;
        Ok(header)
    }

    /// Checks the fields, since a valid checksum does not exclude impossible values.
    fn check(&self) -> Result<(), FormatError> {
        let expect = |field, got: u64, expected: u64, holds: bool| match holds {
            true => Ok(()),
            false => Err(FormatError::Inconsistent { part: "header", field, got, expected }),
        };
        expect("segment_count", self.segment_count.into(), 1, self.segment_count > 0)?;
        expect("unit_count", self.unit_count.into(), 1, self.unit_count > 0)?;
        let head_bytes = self.directory_bytes.checked_add(HEADER_BYTES as u64);
        let fits = head_bytes.is_some_and(|head_bytes| head_bytes <= self.block_bytes);
        expect("directory_bytes", self.directory_bytes, self.block_bytes, fits)
    }

    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        let (version, code) = self.contents.version_and_code();
        bytes[8..10].copy_from_slice(&version.to_le_bytes());
        bytes[10] = self.unit_count;
        bytes[CONTENTS_AT] = code;
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
