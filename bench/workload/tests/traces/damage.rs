//! Any bytes are a trace or an error, and what was written is what is read.

use proptest::prelude::*;
use springbloom_workload::TraceKind::{self, Delete, Get, Put, Seek};

use crate::encoded::{get, seek, tagged, trace, write};
use crate::{operations, read};

fn operation() -> impl Strategy<Value = (TraceKind, Vec<u8>)> {
    let kind = prop_oneof![Just(Get), Just(Put), Just(Delete), Just(Seek)];
    (kind, prop::collection::vec(any::<u8>(), 0..200))
}

fn query_trace(operations: &[(TraceKind, Vec<u8>)]) -> Vec<u8> {
    let records: Vec<_> = operations
        .iter()
        .map(|(kind, key)| match kind {
            Get => get(0, key),
            Put => write(&[tagged(1, &[key, b"value"])]),
            Delete => write(&[tagged(0, &[key])]),
            Seek => seek(5, key, None),
        })
        .collect();
    trace("0.2", &records)
}

fn text(operations: &[(TraceKind, Vec<u8>)]) -> String {
    let line = |(kind, key): &(TraceKind, Vec<u8>)| {
        let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{},0x{digits}\n", format!("{kind:?}").to_lowercase())
    };
    operations.iter().map(line).collect()
}

proptest! {
    #[test]
    fn both_forms_come_back(written in prop::collection::vec(operation(), 1..30)) {
        prop_assert_eq!(&operations(&read(&query_trace(&written)).expect("query trace")), &written);
        prop_assert_eq!(&operations(&read(text(&written).as_bytes()).expect("text")), &written);
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        _ = read(&bytes);
    }

    #[test]
    fn no_damage_panics(
        written in prop::collection::vec(operation(), 1..10),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = query_trace(&written);
        let place = at.index(bytes.len());
        bytes[place] = byte;
        bytes.truncate(cut.index(bytes.len() * 2).max(1));
        if let Ok(trace) = read(&bytes) {
            prop_assert!(operations(&trace).len() == trace.operations());
        }
    }
}
