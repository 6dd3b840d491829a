//! The text form of a trace: an operation and a key a line, such as `get,user17`.
//!
//! Operations are get, put, delete and seek. A key is the rest of its line, or `0x` and its bytes in hexadecimal: needed where it has a
//! line end, or begins with `0x`. Lines that are empty or begin with `#` are skipped.

use std::io::{BufRead, Read};

use super::{BadTrace, TraceBuilder, TraceKind};
use crate::keys::KEY_BYTES_MAX;

/// A key in hexadecimal, and room for its operation.
const LINE_BYTES_MAX: usize = 2 * KEY_BYTES_MAX + 16;

/// Adds the operations of some text to `trace`.
pub fn read(mut text: impl BufRead, trace: &mut TraceBuilder) -> Result<(), BadTrace> {
    let (mut line, mut key) = (Vec::new(), Vec::new());
    for number in 1u64.. {
        let bad = |wrong: String| BadTrace { place: format!("line {number}"), wrong };
        line.clear();
        // Memory does not grow with a file that has no line end.
        let got = (&mut text).take(LINE_BYTES_MAX as u64 + 1).read_until(b'\n', &mut line);
        match got.map_err(|error| bad(format!("cannot read on: {error}")))? {
            0 => break,
            got if got > LINE_BYTES_MAX => {
                let got = shown(&line);
                return Err(bad(format!(
                    "got {got}, a line of more than {LINE_BYTES_MAX} bytes, expected a key of at most {KEY_BYTES_MAX}"
                )));
            }
            _ => {}
        }
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        operation(line, &mut key).and_then(|kind| trace.add(kind, 0, &key)).map_err(bad)?;
    }
    Ok(())
}

fn operation(line: &[u8], key: &mut Vec<u8>) -> Result<TraceKind, String> {
    let expected = || {
        format!(
            "got {}, expected get, put, delete or seek, a comma and a key, such as get,user17",
            shown(line)
        )
    };
    let comma = line.iter().position(|&byte| byte == b',').ok_or_else(expected)?;
    let kind = match &line[..comma] {
        b"get" => TraceKind::Get,
        b"put" => TraceKind::Put,
        b"delete" => TraceKind::Delete,
        b"seek" => TraceKind::Seek,
        _ => return Err(expected()),
    };
    let written = &line[comma + 1..];
    if written.is_empty() {
        return Err(expected());
    }
    read_key(written, key)?;
    Ok(kind)
}

/// Reads the key that is `written`.
pub(super) fn read_key(written: &[u8], key: &mut Vec<u8>) -> Result<(), String> {
    key.clear();
    let Some(digits) = written.strip_prefix(b"0x") else {
        key.extend_from_slice(written);
        return Ok(());
    };
    let (pairs, rest) = digits.as_chunks::<2>();
    let value = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let bytes: Option<Vec<u8>> =
        pairs.iter().map(|&[high, low]| Some(value(high)? << 4 | value(low)?)).collect();
    match bytes {
        Some(bytes) if rest.is_empty() => {
            key.extend_from_slice(&bytes);
            Ok(())
        }
        _ => Err(format!(
            "got the key {}, expected an even number of hexadecimal digits behind 0x",
            shown(written)
        )),
    }
}

/// The start of a line for an error: bytes that are no ASCII in hexadecimal.
fn shown(line: &[u8]) -> String {
    const MOST: usize = 80;
    let more = if line.len() > MOST { "..." } else { "" };
    format!("\"{}{more}\"", line.get(..MOST).unwrap_or(line).escape_ascii())
}
