//! The stored form of a table's filter units, one block per table, and of the hotness file. Encodes and decodes bytes; opens no files.
//!
//! `docs/format.md` is the only description of the layout. In short: a [header](BlockHeader), a [directory](Directory) with the shape and
//! first key of every segment, then the units, *unit-major*: unit 0 of all segments, then unit 1 of all. One sequential read makes a whole
//! table usable, and units that are not resident are never read (ElasticBF, ATC'19 section 3.2: all units in secondary storage, the first
//! ones loaded with the table).
//!
//! ```
//! use springbloom_filter::{FilterGroup, KeyDigest, UnitSettings};
//! use springbloom_format::{BlockWriter, Directory};
//!
//! let mut writer = BlockWriter::new(UnitSettings::default(), 4 << 20);
//! writer.add(b"apple", 1000);
//! writer.add(b"pear", 1000);
//! let block = writer.finish();
//!
//! let directory = Directory::parse(&block)?;
//! let span = directory.unit_span(0, 0);
//! let unit = directory.decode_unit(0, 0, &block[span.start as usize..span.end as usize])?;
//! let group = FilterGroup::from_units(directory.shape(0), &[unit]).unwrap();
//! assert!(group.may_match(KeyDigest::of(b"pear")));
//! # Ok::<(), springbloom_format::FormatError>(())
//! ```
//!
//! Invariants:
//! - decoding is total: any bytes give a value or a [`FormatError`], without panics and without allocating more than a
//!   small multiple of the bytes given;
//! - no unit decodes successfully to bytes other than the ones written for that segment and unit, up to a 32-bit checksum;
//! - offsets are derived from the shapes, never stored, so they cannot disagree with them.

mod block;
mod bytes;
mod checksum;
mod error;
mod hotness_file;

pub use block::{
    BlockHeader, BlockWriter, Contents, Directory, FORMAT_VERSION, FinishedBlock, HEADER_BYTES, MAGIC,
    MAX_SEGMENT_BYTES_PER_KEY, MAX_SEGMENT_KEYS, PrefixWriter, UNSORTED_BYTES_MAX, UnitLayout,
};
pub use error::FormatError;
pub use hotness_file::{
    HOTNESS_HEADER_BYTES, HOTNESS_MAGIC, HOTNESS_VERSION, StoredHotness, StoredSegment, StoredTable,
};
