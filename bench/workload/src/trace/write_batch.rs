//! RocksDB's `WriteBatch`: a sequence number, a count, and records of a tag and strings. `db/write_batch.cc` of RocksDB describes it.

use super::bytes::Bytes;
use super::{TraceBuilder, TraceKind};

/// Bytes of sequence number and count.
const HEADER_BYTES: usize = 12;

/// What a record does.
#[derive(Clone, Copy)]
enum Effect {
    Write(TraceKind),
    DeleteRange,
    RollBack,
    None,
}

/// Whether a record with this tag, `ValueType` in RocksDB's `db/dbformat.h`, names a column family, the number of its strings, and what it
/// does. `None`: no batch has such a record.
fn form(tag: u8) -> Option<(bool, u32, Effect)> {
    let (put, delete) = (Effect::Write(TraceKind::Put), Effect::Write(TraceKind::Delete));
    Some(match tag {
        // A deletion and a single deletion.
        0x0 | 0x7 => (false, 1, delete),
        0x4 | 0x8 => (true, 1, delete),
        // A value, a merge, a blob index, an entity, a value with a time.
        0x1 | 0x2 | 0x11 | 0x16 | 0x18 => (false, 2, put),
        0x5 | 0x6 | 0x10 | 0x17 | 0x19 => (true, 2, put),
        0xF => (false, 2, Effect::DeleteRange),
        0xE => (true, 2, Effect::DeleteRange),
        0xC => (false, 1, Effect::RollBack),
        // A blob of the log, the end of a preparation, a commit without and with a time.
        0x3 | 0xA | 0xB => (false, 1, Effect::None),
        0x15 => (false, 2, Effect::None),
        // Nothing, and beginnings of preparations.
        0x9 | 0xD | 0x12 | 0x13 => (false, 0, Effect::None),
        _ => return None,
    })
}

/// Adds the writes of a batch to `trace`; none of the damaged record and those behind it.
pub(super) fn read(batch: &[u8], trace: &mut TraceBuilder) -> Result<(), String> {
    let (_, records) = batch
        .split_at_checked(HEADER_BYTES)
        .ok_or_else(|| format!("a write batch of {} bytes, expected at least {HEADER_BYTES}", batch.len()))?;
    let mut bytes = Bytes(records);
    while let Some(tag) = bytes.byte() {
        let (has_family, strings, effect) = form(tag)
            .ok_or_else(|| format!("a record with tag {tag} in a write batch, which is none of RocksDB's"))?;
        let mut parts = || -> Option<(u32, &[u8], &[u8])> {
            let family = if has_family { bytes.varint32()? } else { 0 };
            let key = if strings > 0 { bytes.string()? } else { &[] };
            Some((family, key, if strings > 1 { bytes.string()? } else { &[] }))
        };
        let (family, key, value) =
            parts().ok_or_else(|| format!("a write batch that ends within a record of tag {tag}"))?;
        match effect {
            Effect::Write(kind) => {
                trace.add(kind, family, key)?;
                if kind == TraceKind::Put {
                    trace.add_value(value.len());
                }
            }
            Effect::DeleteRange => trace.left_out.range_deletions += 1,
            Effect::RollBack => trace.left_out.rollbacks += 1,
            Effect::None => {}
        }
    }
    Ok(())
}
