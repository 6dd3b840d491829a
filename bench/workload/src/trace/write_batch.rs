//! RocksDB's `WriteBatch`: a sequence number, a count, and records of a tag and strings. `db/write_batch.cc` of RocksDB describes it.

use super::bytes::Bytes;
use super::{TraceBuilder, TraceKind};

/// Bytes of sequence number and count.
const HEADER_BYTES: usize = 12;

/// Tags of `ValueType` in RocksDB's `db/dbformat.h`.
mod tag {
    pub(super) const DELETION: u8 = 0x0;
    pub(super) const VALUE: u8 = 0x1;
    pub(super) const MERGE: u8 = 0x2;
    pub(super) const LOG_DATA: u8 = 0x3;
    pub(super) const FAMILY_DELETION: u8 = 0x4;
    pub(super) const FAMILY_VALUE: u8 = 0x5;
    pub(super) const FAMILY_MERGE: u8 = 0x6;
    pub(super) const SINGLE_DELETION: u8 = 0x7;
    pub(super) const FAMILY_SINGLE_DELETION: u8 = 0x8;
    pub(super) const BEGIN_PREPARE: u8 = 0x9;
    pub(super) const END_PREPARE: u8 = 0xA;
    pub(super) const COMMIT: u8 = 0xB;
    pub(super) const ROLLBACK: u8 = 0xC;
    pub(super) const NOOP: u8 = 0xD;
    pub(super) const FAMILY_RANGE_DELETION: u8 = 0xE;
    pub(super) const RANGE_DELETION: u8 = 0xF;
    pub(super) const FAMILY_BLOB_INDEX: u8 = 0x10;
    pub(super) const BLOB_INDEX: u8 = 0x11;
    pub(super) const BEGIN_PERSISTED_PREPARE: u8 = 0x12;
    pub(super) const BEGIN_UNPREPARE: u8 = 0x13;
    /// Only in memory.
    pub(super) const DELETION_WITH_TIMESTAMP: u8 = 0x14;
    pub(super) const ENTITY: u8 = 0x16;
    pub(super) const FAMILY_ENTITY: u8 = 0x17;
    pub(super) const TIMED_VALUE: u8 = 0x18;
    pub(super) const FAMILY_TIMED_VALUE: u8 = 0x19;
}

/// Adds the writes of a batch to `trace`; none of the damaged record and those behind it.
pub(super) fn read(batch: &[u8], trace: &mut TraceBuilder) -> Result<(), String> {
    let (_, records) = batch
        .split_at_checked(HEADER_BYTES)
        .ok_or_else(|| format!("a write batch of {} bytes, expected at least {HEADER_BYTES}", batch.len()))?;
    let mut bytes = Bytes(records);
    while let Some(tag) = bytes.byte() {
        record(tag, &mut bytes, trace)?
            .ok_or_else(|| format!("a write batch that ends within a record of tag {tag}"))?;
    }
    Ok(())
}

/// `None`: the bytes end too early.
fn record(tag: u8, bytes: &mut Bytes<'_>, trace: &mut TraceBuilder) -> Result<Option<()>, String> {
    let mut parts = || -> Option<(u32, &[u8], Option<usize>)> {
        let family = match tag {
            tag::FAMILY_VALUE
            | tag::FAMILY_MERGE
            | tag::FAMILY_BLOB_INDEX
            | tag::FAMILY_ENTITY
            | tag::FAMILY_TIMED_VALUE
            | tag::FAMILY_DELETION
            | tag::FAMILY_SINGLE_DELETION
            | tag::FAMILY_RANGE_DELETION => bytes.varint32()?,
            _ => 0,
        };
        let (key, has_second) = match tag {
            tag::NOOP | tag::BEGIN_PREPARE | tag::BEGIN_PERSISTED_PREPARE | tag::BEGIN_UNPREPARE => {
                (&[][..], false)
            }
            tag::DELETION
            | tag::FAMILY_DELETION
            | tag::SINGLE_DELETION
            | tag::FAMILY_SINGLE_DELETION
            | tag::LOG_DATA
            | tag::END_PREPARE
            | tag::COMMIT
            | tag::ROLLBACK => (bytes.string()?, false),
            // A key, or a time, and a value, the end of a range or the name of a transaction.
            _ => (bytes.string()?, true),
        };
        let second = if has_second { Some(bytes.string()?.len()) } else { None };
        Some((family, key, second))
    };
    if tag > tag::FAMILY_TIMED_VALUE || tag == tag::DELETION_WITH_TIMESTAMP {
        return Err(format!("a record with tag {tag} in a write batch, which is none of RocksDB's"));
    }
    let Some((family, key, second)) = parts() else { return Ok(None) };
    match tag {
        tag::VALUE
        | tag::FAMILY_VALUE
        | tag::MERGE
        | tag::FAMILY_MERGE
        | tag::BLOB_INDEX
        | tag::FAMILY_BLOB_INDEX
        | tag::ENTITY
        | tag::FAMILY_ENTITY
        | tag::TIMED_VALUE
        | tag::FAMILY_TIMED_VALUE => {
            trace.add(TraceKind::Put, family, key)?;
            second.into_iter().for_each(|bytes| trace.add_value(bytes));
        }
        tag::DELETION | tag::FAMILY_DELETION | tag::SINGLE_DELETION | tag::FAMILY_SINGLE_DELETION => {
            trace.add(TraceKind::Delete, family, key)?
        }
        tag::RANGE_DELETION | tag::FAMILY_RANGE_DELETION => trace.left_out.range_deletions += 1,
        tag::ROLLBACK => trace.left_out.rollbacks += 1,
        _ => {}
    }
    Ok(Some(()))
}
