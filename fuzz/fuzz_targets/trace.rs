//! Any bytes as a trace, of RocksDB and as text: operations whose keys are there, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use springbloom_workload::trace::{TraceBuilder, query, text};

fuzz_target!(|bytes: &[u8]| {
    // The header of a query trace, whose magic is hard to guess.
    let mut with_header = [&[0; 8][..], &[1, 37, 0, 0, 0]].concat();
    with_header.extend_from_slice(b"feedcafedeadbeef\tTrace Version: 0.2\t\n");
    with_header.extend_from_slice(bytes);
    let mut built = [(); 3].map(|()| TraceBuilder::default());
    // Damage is an error, and what was read before it is kept.
    _ = query::read(bytes, &mut built[0]);
    _ = query::read(with_header.as_slice(), &mut built[1]);
    _ = text::read(bytes, &mut built[2]);
    for trace in built.map(TraceBuilder::finish) {
        let key_bytes: usize = trace.iter().map(|operation| trace.key(operation.key).len()).sum();
        assert!(key_bytes <= with_header.len() * 8);
        let operations = trace.operations();
        let (keys, replay) = trace.replay_after(operations / 2);
        let counts = replay.counts(0..replay.operations());
        assert!(counts.absent_gets <= counts.gets);
        drop(keys);
    }
});
