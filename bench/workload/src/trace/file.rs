//! Files of traces: which form one has, and which keys were there before.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::error::WorkloadError;
use crate::keys::lines;
use crate::trace::{BadTrace, Trace, TraceBuilder, query, text};

const BUFFER_BYTES: usize = 1 << 16;
const GZIP: &[u8] = &[0x1F, 0x8B];
const ZSTD: &[u8] = &[0x28, 0xB5, 0x2F, 0xFD];

pub(super) fn read(path: &Path, keys: Option<&Path>) -> Result<Trace, WorkloadError> {
    let mut trace = TraceBuilder::default();
    if let Some(keys) = keys {
        add_keys(keys, &mut trace)?;
    }
    let bad = |BadTrace { place, wrong }| WorkloadError(format!("{}, {place}: {wrong}", path.display()));
    let file = File::open(path).map_err(|error| WorkloadError::unreadable("the trace", path, &error))?;
    read_any(file, &mut trace).map_err(bad)?;
    if trace.operations.is_empty() {
        let cut_off = if trace.left_out.is_cut_off { ": the file ends within its first record" } else { "" };
        return Err(bad(BadTrace {
            place: "end of the file".to_owned(),
            wrong: format!("got no operation, expected at least one{cut_off}"),
        }));
    }
    Ok(trace.finish())
}

fn unreadable(error: &std::io::Error) -> BadTrace {
    BadTrace { place: "start of the file".to_owned(), wrong: format!("cannot read it: {error}") }
}

fn read_any(mut file: impl Read, trace: &mut TraceBuilder) -> Result<(), BadTrace> {
    let start = beginning(&mut file)?;
    if start.starts_with(GZIP) {
        let mut unpacked = Unpacked(MultiGzDecoder::new(start.chain(file)));
        let start = beginning(&mut unpacked)?;
        return read_plain(&start, unpacked, trace);
    }
    if start.starts_with(ZSTD) {
        let wrong = "got a file compressed by zstd, expected gzip or none: unpack it with zstd -d".to_owned();
        return Err(BadTrace { place: "start of the file".to_owned(), wrong });
    }
    read_plain(&start, file, trace)
}

/// What gzip unpacks. Errors say that the file was compressed.
struct Unpacked<R>(MultiGzDecoder<R>);

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(bytes).map_err(|error| {
            let told =
                format!("{error}: the file is compressed by gzip, and cut off or damaged (gzip -t tells)");
            std::io::Error::new(error.kind(), told)
        })
    }
}

/// Enough bytes to tell what is in a file.
fn beginning(file: &mut impl Read) -> Result<Vec<u8>, BadTrace> {
    let mut start = Vec::new();
    file.take(query::RECOGNISED_BYTES as u64).read_to_end(&mut start).map_err(|error| unreadable(&error))?;
    Ok(start)
}

fn read_plain(start: &[u8], rest: impl Read, trace: &mut TraceBuilder) -> Result<(), BadTrace> {
    let file = BufReader::with_capacity(BUFFER_BYTES, start.chain(rest));
    if query::is_query_trace(start) { query::read(file, trace) } else { text::read(file, trace) }
}

fn add_keys(path: &Path, trace: &mut TraceBuilder) -> Result<(), WorkloadError> {
    let bytes = std::fs::read(path).map_err(|error| WorkloadError::unreadable("keys from", path, &error))?;
    let mut key = Vec::new();
    for (number, line) in lines(&bytes) {
        text::read_key(line, &mut key)
            .and_then(|()| trace.add_key(&key))
            .map_err(|wrong| WorkloadError(format!("{}, line {number}: {wrong}", path.display())))?;
    }
    Ok(())
}
