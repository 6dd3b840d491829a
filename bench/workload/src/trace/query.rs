//! RocksDB's query trace: records of a time, a type and a payload. `trace_replay/trace_replay.cc` of RocksDB writes and reads it.
//!
//! Times are not read: operations are replayed as fast as they can be.

use std::io::Read;

use super::bytes::Bytes;
use super::{BadTrace, TraceBuilder, TraceKind, write_batch};

/// Bytes of time, type and length of the payload.
const METADATA_BYTES: usize = 13;
const MAGIC: &[u8] = b"feedcafedeadbeef";
const NO_HEADER: &str = "no header of a query trace";
/// Bytes at the beginning that tell a query trace.
pub(super) const RECOGNISED_BYTES: usize = METADATA_BYTES + MAGIC.len();

/// Numbers of `TraceType` in RocksDB's `include/rocksdb/trace_record.h`.
mod kind {
    pub(super) const BEGIN: u8 = 1;
    pub(super) const END: u8 = 2;
    pub(super) const WRITE: u8 = 3;
    pub(super) const GET: u8 = 4;
    pub(super) const SEEK: u8 = 5;
    pub(super) const SEEK_FOR_PREV: u8 = 6;
    pub(super) const MULTI_GET: u8 = 13;
}

/// Bits of a payload's map, of `TracePayloadType` in `trace_replay/trace_replay.h`. The parts are in the order of their bits.
mod part {
    pub(super) const WRITE_BATCH: u32 = 1;
    pub(super) const GET_FAMILY: u32 = 2;
    pub(super) const GET_KEY: u32 = 3;
    pub(super) const SEEK_FAMILY: u32 = 4;
    pub(super) const SEEK_KEY: u32 = 5;
    pub(super) const LOWER_BOUND: u32 = 6;
    pub(super) const UPPER_BOUND: u32 = 7;
    pub(super) const MULTI_GET_SIZE: u32 = 8;
    pub(super) const MULTI_GET_FAMILIES: u32 = 9;
    pub(super) const MULTI_GET_KEYS: u32 = 10;
}

/// Whether a file that begins with these bytes is a query trace.
pub(super) fn is_query_trace(start: &[u8]) -> bool {
    start.len() >= RECOGNISED_BYTES && start[8] == kind::BEGIN && start[METADATA_BYTES..].starts_with(MAGIC)
}

/// Adds the operations of a query trace to `trace`.
///
/// # Errors
/// A damaged record, another version. A file that ends within a record is no error: its program was stopped.
pub fn read(mut file: impl Read, trace: &mut TraceBuilder) -> Result<(), BadTrace> {
    let mut at = 0u64;
    let (mut metadata, mut payload, mut has_header) = ([0; METADATA_BYTES], Vec::new(), false);
    loop {
        let bad = |wrong: String| BadTrace { place: format!("byte {at}"), wrong };
        let unreadable = |error: std::io::Error| bad(format!("cannot read on: {error}"));
        let got = fill(&mut file, &mut metadata).map_err(unreadable)?;
        if got < METADATA_BYTES {
            trace.left_out.is_cut_off = got > 0;
            break;
        }
        let [.., kind, a, b, c, d] = metadata;
        let len = u32::from_le_bytes([a, b, c, d]);
        payload.clear();
        // Grows with what there is, and not with what a damaged length says.
        (&mut file).take(u64::from(len)).read_to_end(&mut payload).map_err(unreadable)?;
        if payload.len() < len as usize {
            trace.left_out.is_cut_off = true;
            break;
        }
        if !has_header {
            header(kind, &payload).map_err(bad)?;
            has_header = true;
        } else if kind == kind::END {
            break;
        } else {
            record(kind, &payload, trace).map_err(bad)?;
        }
        at += METADATA_BYTES as u64 + u64::from(len);
    }
    let no_header = || BadTrace { place: "byte 0".to_owned(), wrong: NO_HEADER.to_owned() };
    if has_header { Ok(()) } else { Err(no_header()) }
}

/// Bytes that were read: fewer than asked for only at the end.
fn fill(file: &mut impl Read, bytes: &mut [u8]) -> std::io::Result<usize> {
    let mut got = 0;
    while got < bytes.len() {
        match file.read(&mut bytes[got..]) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

fn header(kind: u8, payload: &[u8]) -> Result<(), String> {
    if kind != kind::BEGIN || !payload.starts_with(MAGIC) {
        return Err(NO_HEADER.to_owned());
    }
    const NAME: &str = "Trace Version: ";
    let text = String::from_utf8_lossy(payload);
    match text.split('\t').find_map(|field| field.strip_prefix(NAME)) {
        Some("0.2") => Ok(()),
        other => Err(format!("trace version {:?}, expected 0.2 of a query trace", other.unwrap_or("none"))),
    }
}

fn record(kind: u8, payload: &[u8], trace: &mut TraceBuilder) -> Result<(), String> {
    let ends_early =
        || format!("a record of type {kind} whose payload of {} bytes ends too early", payload.len());
    let parts = || Parts::of(payload, kind)?.ok_or_else(ends_early);
    match kind {
        kind::WRITE => write_batch::read(parts()?.string, trace),
        kind::GET => {
            let Parts { number, string, .. } = parts()?;
            trace.add(TraceKind::Get, number, string)
        }
        kind::SEEK | kind::SEEK_FOR_PREV => {
            let Parts { number, string, .. } = parts()?;
            trace.add(TraceKind::Seek, number, string)
        }
        kind::MULTI_GET => multi_get(&parts()?, trace)?.ok_or_else(ends_early),
        _ => Err(format!("a record of type {kind}, which is none of a query trace")),
    }
}

/// The parts of a payload.
#[derive(Default)]
struct Parts<'a> {
    /// The column family, or how many keys there are.
    number: u32,
    /// The key, the write batch, or all keys.
    string: &'a [u8],
    families: &'a [u8],
}

impl<'a> Parts<'a> {
    /// `None`: the payload ends too early.
    fn of(payload: &'a [u8], kind: u8) -> Result<Option<Self>, String> {
        let needed = match kind {
            kind::WRITE => 1 << part::WRITE_BATCH,
            kind::GET => 1 << part::GET_KEY,
            kind::MULTI_GET => {
                1 << part::MULTI_GET_SIZE | 1 << part::MULTI_GET_FAMILIES | 1 << part::MULTI_GET_KEYS
            }
            _ => 1 << part::SEEK_KEY,
        };
        let mut bytes = Bytes(payload);
        let Some(map) = bytes.fixed64() else { return Ok(None) };
        let mut parts = Parts::default();
        let mut left = map;
        while left != 0 {
            let read = match left.trailing_zeros() {
                part::GET_FAMILY | part::SEEK_FAMILY | part::MULTI_GET_SIZE => {
                    bytes.fixed32().map(|number| parts.number = number)
                }
                part::WRITE_BATCH | part::GET_KEY | part::SEEK_KEY | part::MULTI_GET_KEYS => {
                    bytes.string().map(|string| parts.string = string)
                }
                part::MULTI_GET_FAMILIES => bytes.string().map(|families| parts.families = families),
                part::LOWER_BOUND | part::UPPER_BOUND => bytes.string().map(|_| ()),
                bit => return Err(format!("a payload with a part {bit}, which is none of a query trace")),
            };
            if read.is_none() {
                return Ok(None);
            }
            left &= left - 1;
        }
        if map & needed != needed {
            return Err(format!("a record of type {kind} without its key"));
        }
        Ok(Some(parts))
    }
}

fn multi_get(parts: &Parts<'_>, trace: &mut TraceBuilder) -> Result<Option<()>, String> {
    let (mut families, mut keys) = (Bytes(parts.families), Bytes(parts.string));
    for _ in 0..parts.number {
        let Some((family, key)) = families.fixed32().zip(keys.string()) else { return Ok(None) };
        trace.add(TraceKind::Get, family, key)?;
    }
    Ok(Some(()))
}
