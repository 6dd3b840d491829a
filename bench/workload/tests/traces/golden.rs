//! Traces that RocksDB wrote (`record.cc`).

use springbloom_workload::Trace;
use springbloom_workload::TraceKind::{self, Delete, Get, Put, Seek};
use springbloom_workload::trace::LeftOut;

use crate::{operations, read};

const ONE_FAMILY: &[u8] = include_bytes!("rocksdb-11.8.1-one.trace");
const TWO_FAMILIES: &[u8] = include_bytes!("rocksdb-11.8.1-two.trace");

fn check(trace: &Trace, expected: &[(TraceKind, Vec<u8>)]) {
    assert_eq!(operations(trace), expected);
    assert_eq!(trace.left_out, LeftOut { range_deletions: 1, ..LeftOut::default() });
}

#[test]
fn one_family() {
    let trace = read(ONE_FAMILY).expect("trace");
    let expected: [(_, &[u8]); 10] = [
        (Put, b"apple"),
        (Put, b"banana"),
        (Delete, b"cherry"),
        (Delete, b"damson"),
        (Get, b"apple"),
        (Get, b"\x00\xFF"),
        (Get, b"banana"),
        (Get, b"elder"),
        (Seek, b"b"),
        (Seek, b"c"),
    ];
    check(&trace, &expected.map(|(kind, key)| (kind, key.to_vec())));
    assert_eq!(trace.value_bytes, Some((4 + 300) / 2));
}

#[test]
fn two_families() {
    let trace = read(TWO_FAMILIES).expect("trace");
    let expected: [(_, u8, &[u8]); 12] = [
        (Put, 0, b"apple"),
        (Put, 0, b"banana"),
        (Delete, 0, b"cherry"),
        (Delete, 0, b"damson"),
        (Put, 1, b"apple"),
        (Get, 0, b"apple"),
        (Get, 0, b"\x00\xFF"),
        (Get, 1, b"apple"),
        (Get, 0, b"banana"),
        (Get, 0, b"elder"),
        (Seek, 0, b"b"),
        (Seek, 0, b"c"),
    ];
    let with_family =
        |(kind, family, key): (TraceKind, u8, &[u8])| (kind, [&[0, 0, 0, family], key].concat());
    check(&trace, &expected.map(with_family));
}
