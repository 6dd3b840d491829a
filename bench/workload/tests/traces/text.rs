//! The text form.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use springbloom_workload::TraceKind::{Delete, Get, Put, Seek};

use crate::{operations, read, read_with_keys};

const TEXT: &[u8] = b"# comment\nget,user17\r\n\nput,a,b\ndelete,0x00ff0A\nseek, z\nget,0x";

fn expected() -> Vec<(springbloom_workload::TraceKind, Vec<u8>)> {
    vec![
        (Get, b"user17".to_vec()),
        (Put, b"a,b".to_vec()),
        (Delete, vec![0, 255, 10]),
        (Seek, b" z".to_vec()),
        (Get, Vec::new()),
    ]
}

#[test]
fn lines_are_operations() {
    assert_eq!(operations(&read(TEXT).expect("trace")), expected());
}

#[test]
fn a_compressed_file_is_the_same_trace() {
    let (first, second) = TEXT.split_at(20);
    let mut packed = Vec::new();
    // Two members, as `cat a.gz b.gz` makes them.
    for part in [first, second] {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(part).expect("write");
        packed.extend(encoder.finish().expect("compressed"));
    }
    assert_eq!(operations(&read(&packed).expect("trace")), expected());
    let error = read(&packed[..packed.len() - 10]).expect_err("cut off").to_string();
    assert!(error.contains("cannot read on") && error.contains("cut off or damaged"), "{error}");
    let error = read(b"\x28\xB5\x2F\xFDrest").expect_err("zstd").to_string();
    assert!(error.contains("zstd -d"), "{error}");
}

#[test]
fn bad_lines_are_named() {
    for (text, line, wrong) in [
        (&b"get,a\nfetch,b"[..], "line 2", "expected get, put, delete or seek"),
        (b"get", "line 1", "a comma and a key"),
        (b"\n# x\nget,", "line 3", "\"get,\""),
        (b"put,0xabc", "line 1", "even number of hexadecimal digits"),
        (b"put,0xzz", "line 1", "\"0xzz\""),
        (b"put,0xab\nget,\xFF\nop\xFF", "line 3", "got \"op\\xff\""),
        (b"\x1F\x8B", "start of the file", "cut off or damaged"),
        (b"", "end of the file", "no operation"),
        (b"# only this\n", "end of the file", "no operation"),
    ] {
        let error = read(text).expect_err("bad trace").to_string();
        assert!(error.contains(line) && error.contains(wrong), "{error}");
    }
    let error = read(&[b'x'; 100_000]).expect_err("no line ends").to_string();
    assert!(error.len() < 400, "{error}");
}

#[test]
fn long_keys_and_lines_are_refused() {
    const MOST: usize = 8 << 20;
    let line = |start: &str, len: usize| [start.as_bytes(), &vec![b'a'; len]].concat();
    let trace = read(&line("get,", MOST)).expect("the longest key");
    assert_eq!(operations(&trace)[0].1.len(), MOST);
    let trace = read(&line("get,0x", 2 * MOST)).expect("the longest key, in hexadecimal");
    assert_eq!(operations(&trace)[0].1.len(), MOST);
    for (start, len) in [("get,", MOST + 1), ("get,0x", 2 * MOST + 2), ("", 3 * MOST)] {
        let error =
            read(&[b"put,a\n", line(start, len).as_slice()].concat()).expect_err("too long").to_string();
        assert!(error.contains("line 2") && error.contains(&format!("at most {MOST}")), "{error}");
        assert!(error.len() < 400, "{error}");
    }
    let error = read_with_keys(b"get,a", &line("", MOST + 1)).expect_err("too long").to_string();
    assert!(error.contains("line 1") && error.contains("at most"), "{error}");
}

#[test]
fn keys_of_a_file_were_there_before() {
    let trace =
        read_with_keys(b"get,a\nget,c\nput,c\nget,c\ndelete,a\nget,a\n", b"a\n0x62\n").expect("trace");
    assert_eq!((trace.keys(), trace.operations()), (3, 6));
    let (_, replay) = trace.replay_after(0);
    let counts = [0..1, 1..2, 3..4, 5..6].map(|at| replay.counts(at)).map(|it| (it.gets, it.absent_gets));
    assert_eq!(counts, [(1, 0), (1, 1), (1, 0), (1, 1)]);
    let error = read_with_keys(b"get,a", b"a\n\n0x1\n").expect_err("bad key").to_string();
    assert!(error.contains("line 3"), "{error}");
}
