//! Traces in both forms: what is read, what is refused, and what a replay does.

mod damage;
mod encoded;
mod golden;
mod query;
mod replay;
mod text;

use std::io::Write;
use std::path::Path;

use springbloom_workload::trace::{TraceKind, TraceOperation};
use springbloom_workload::{Trace, WorkloadError};

/// A file with these bytes.
fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("temporary file");
    file.write_all(bytes).expect("write");
    file
}

fn read(bytes: &[u8]) -> Result<Trace, WorkloadError> {
    Trace::read(file(bytes).path(), None)
}

fn read_with_keys(bytes: &[u8], keys: &[u8]) -> Result<Trace, WorkloadError> {
    Trace::read(file(bytes).path(), Some(file(keys).path()))
}

/// Operations with their keys.
fn operations(trace: &Trace) -> Vec<(TraceKind, Vec<u8>)> {
    let with_key = |TraceOperation { kind, key }: TraceOperation| (kind, trace.key(key).to_vec());
    trace.iter().map(with_key).collect()
}

#[test]
fn a_missing_file_is_named() {
    let error = Trace::read(Path::new("/nonexistent/trace"), None).expect_err("no file").to_string();
    assert!(error.starts_with("cannot read the trace /nonexistent/trace: "), "{error}");
    let keys = Trace::read(file(b"get,a").path(), Some(Path::new("/nonexistent/keys")));
    assert!(keys.is_err_and(|error| error.to_string().starts_with("cannot read keys from")));
}
