//! RocksDB's query trace.

use springbloom_workload::TraceKind::{Delete, Get, Put, Seek};
use springbloom_workload::trace::LeftOut;

use crate::encoded::{get, multi_get, payload, seek, string, tagged, trace, varint, write};
use crate::{operations, read};

#[test]
fn every_kind_of_query_is_read() {
    let bytes = trace(
        "0.2",
        &[
            write(&[tagged(1, &[b"a", b"value"]), tagged(0, &[b"b"]), tagged(2, &[b"c", b"operand"])]),
            get(0, b"a"),
            multi_get(&[(0, b"b"), (0, b""), (0, b"\x00\xFF")]),
            seek(5, b"d", Some(b"e")),
            seek(6, b"d", None),
        ],
    );
    let trace = read(&bytes).expect("trace");
    let expected: [(_, &[u8]); 9] = [
        (Put, b"a"),
        (Delete, b"b"),
        (Put, b"c"),
        (Get, b"a"),
        (Get, b"b"),
        (Get, b""),
        (Get, b"\x00\xFF"),
        (Seek, b"d"),
        (Seek, b"d"),
    ];
    assert_eq!(operations(&trace), expected.map(|(kind, key)| (kind, key.to_vec())));
    assert_eq!((trace.value_bytes, trace.left_out), (Some(6), LeftOut::default()));
}

#[test]
fn every_record_of_a_write_batch_is_known() {
    let family = |tag: u8, strings: &[&[u8]]| {
        let mut record = tagged(tag, strings);
        varint(0).into_iter().for_each(|byte| record.insert(1, byte));
        record
    };
    let bytes = trace(
        "0.2",
        &[write(&[
            tagged(3, &[b"blob"]),
            tagged(9, &[]),
            tagged(1, &[b"1", b""]),
            family(5, &[b"2", b""]),
            family(6, &[b"3", b""]),
            family(4, &[b"4"]),
            tagged(7, &[b"5"]),
            family(8, &[b"6"]),
            tagged(0xF, &[b"from", b"to"]),
            family(0xE, &[b"from", b"to"]),
            tagged(0x11, &[b"7", b"index"]),
            family(0x10, &[b"8", b"index"]),
            tagged(0x16, &[b"9", b"columns"]),
            family(0x17, &[b"10", b"columns"]),
            tagged(0x18, &[b"11", b"timed"]),
            family(0x19, &[b"12", b"timed"]),
            tagged(0xD, &[]),
            tagged(0xA, &[b"xid"]),
            tagged(0xB, &[b"xid"]),
            tagged(0xC, &[b"xid"]),
            tagged(0x15, &[b"time", b"xid"]),
            tagged(0x12, &[]),
            tagged(0x13, &[]),
        ])],
    );
    let trace = read(&bytes).expect("trace");
    let kinds: Vec<_> = operations(&trace).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, [[Put; 3], [Delete; 3], [Put; 3], [Put; 3]].concat());
    let keys: Vec<_> =
        operations(&trace).into_iter().map(|(_, key)| String::from_utf8(key).expect("digits")).collect();
    assert_eq!(keys, (1..=12).map(|key| key.to_string()).collect::<Vec<_>>());
    assert_eq!(trace.left_out, LeftOut { range_deletions: 2, rollbacks: 1, is_cut_off: false });
}

#[test]
fn keys_of_several_families_are_told_apart() {
    let mut in_family = tagged(5, &[b"a", b""]);
    in_family.insert(1, 3);
    let bytes = trace("0.2", &[get(0, b"a"), write(&[in_family]), get(3, b"a")]);
    let keys: Vec<_> = operations(&read(&bytes).expect("trace")).into_iter().map(|(_, key)| key).collect();
    assert_eq!(keys, [b"\0\0\0\0a", b"\0\0\0\x03a", b"\0\0\0\x03a"]);
}

#[test]
fn a_trace_of_a_stopped_program_is_used_up_to_its_end() {
    let bytes = trace("0.2", &[get(0, b"a"), get(0, b"bc")]);
    // In front of the footer, within it, and within the last record.
    for (cut, gets, is_cut_off) in [(13, 2, false), (5, 2, true), (15, 1, true), (30, 1, true)] {
        let trace = read(&bytes[..bytes.len() - cut]).expect("trace");
        assert_eq!((trace.operations(), trace.left_out.is_cut_off), (gets, is_cut_off), "{cut}");
    }
}

#[test]
fn damage_is_named_by_its_place() {
    const FOOTER_BYTES: usize = 13;
    let at = trace("0.2", &[get(0, b"a")]).len() - FOOTER_BYTES;
    for (record, wrong) in [
        ((4, payload(&[(2, vec![0; 4])])), "without its key"),
        ((4, payload(&[(2, vec![0; 4]), (3, vec![9, b'a'])])), "ends too early"),
        ((4, payload(&[(40, vec![0; 4])])), "part 40"),
        ((4, vec![0; 3]), "ends too early"),
        ((12, Vec::new()), "type 12"),
        ((3, payload(&[(1, string(b"short"))])), "5 bytes, expected at least 12"),
        (write(&[vec![0x14]]), "tag 20"),
        (write(&[vec![0x70]]), "tag 112"),
        (write(&[vec![1, 3, b'a']]), "within a record of tag 1"),
        ((13, payload(&[(8, vec![9, 0, 0, 0]), (9, string(b"")), (10, string(b""))])), "ends too early"),
    ] {
        let error = read(&trace("0.2", &[get(0, b"a"), record])).expect_err("damaged").to_string();
        assert!(error.contains(&format!(", byte {at}: ")) && error.contains(wrong), "{error}");
    }
    let error = read(&trace("0.3", &[])).expect_err("unknown version").to_string();
    assert!(error.contains("\"0.3\", expected 0.2"), "{error}");
    let error = read(&trace("0.2", &[])).expect_err("empty").to_string();
    assert!(error.contains("no operation"), "{error}");
}
