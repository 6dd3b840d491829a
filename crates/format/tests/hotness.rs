//! The hotness file: written files are read back, damage is an error, and `docs/format.md` describes the format.

use proptest::prelude::*;
use springbloom_format::{
    FormatError, HOTNESS_HEADER_BYTES, HOTNESS_MAGIC, HOTNESS_VERSION, StoredHotness, StoredSegment,
    StoredTable,
};
use xxhash_rust::xxh3::xxh3_64_with_seed;

fn count() -> impl Strategy<Value = f32> {
    prop_oneof![Just(0.0f32), 0.0f32..1e6, Just(f32::MAX), Just(f32::MIN_POSITIVE)]
}

fn segment() -> impl Strategy<Value = StoredSegment> {
    (count(), count(), count(), any::<u8>()).prop_map(|(access_count, negatives, wasted_reads, units)| {
        StoredSegment { access_count, negatives, wasted_reads, units }
    })
}

fn file() -> impl Strategy<Value = StoredHotness> {
    let table = (any::<u64>(), any::<u64>(), prop::collection::vec(segment(), 0..9))
        .prop_map(|(id, file_number, segments)| StoredTable { id, file_number, segments });
    let visits = (count(), count(), count());
    (any::<u64>(), any::<u64>(), visits, prop::collection::vec(table, 0..6)).prop_map(
        |(budget_bytes, bookkeeping_bytes, visits, tables)| StoredHotness {
            budget_bytes,
            bookkeeping_bytes,
            visits_per_lookup: visits.0,
            late_visits: visits.1,
            late_wasted_reads: visits.2,
            tables,
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read(file in file()) {
        prop_assert_eq!(StoredHotness::decode(&file.encode()), Ok(file));
    }

    #[test]
    fn every_cut_and_every_flipped_bit_is_an_error(file in file(), at in any::<prop::sample::Index>(), bit in 0..8u8) {
        let mut bytes = file.encode();
        let at = at.index(bytes.len());
        prop_assert!(StoredHotness::decode(&bytes[..at]).is_err());
        bytes[at] ^= 1 << bit;
        prop_assert!(StoredHotness::decode(&bytes).is_err());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = StoredHotness::decode(&bytes);
    }
}

/// A small file, and a function that corrects its checksums after a change.
fn small() -> Vec<u8> {
    let segments = vec![StoredSegment { access_count: 3.0, negatives: 2.0, wasted_reads: 1.0, units: 4 }; 2];
    StoredHotness {
        budget_bytes: 1 << 20,
        bookkeeping_bytes: 1000,
        visits_per_lookup: 2.5,
        late_visits: 77.0,
        late_wasted_reads: 7.0,
        tables: vec![StoredTable { id: 7, file_number: 9, segments }],
    }
    .encode()
}

fn seal(bytes: &mut [u8]) {
    let header = xxh3_64_with_seed(&bytes[..66], 4 << 56) as u32;
    bytes[66..70].copy_from_slice(&header.to_le_bytes());
    let end = bytes.len() - 4;
    let body = xxh3_64_with_seed(&bytes[HOTNESS_HEADER_BYTES..end], 5 << 56) as u32;
    bytes[end..].copy_from_slice(&body.to_le_bytes());
}

#[test]
fn foreign_newer_and_inconsistent_files_are_told_apart() {
    let changed = |at: usize, to: &[u8]| {
        let mut bytes = small();
        bytes[at..at + to.len()].copy_from_slice(to);
        seal(&mut bytes);
        StoredHotness::decode(&bytes).unwrap_err()
    };
    assert!(matches!(changed(0, b"SpgBloom"), FormatError::Foreign { .. }));
    assert_eq!(changed(8, &[3]), FormatError::NewerVersion { got: 3, newest: HOTNESS_VERSION });
    for (at, to) in [
        (12, &[2][..]),
        (16, &[0]),
        (94, &[3]),
        (98, &f32::NAN.to_le_bytes()),
        (98, &(-1.0f32).to_le_bytes()),
    ] {
        let error = changed(at, to);
        assert!(matches!(error, FormatError::Inconsistent { .. }), "{at}: {error}");
    }
    let mut longer = small();
    longer.push(0);
    assert!(matches!(StoredHotness::decode(&longer), Err(FormatError::Inconsistent { .. })));
}

/// They had a meaning in files of the same version.
#[test]
fn what_is_in_unused_places_is_ignored() {
    let now = small();
    let mut before = now.clone();
    for place in [10..12, 44..52, 60..66, 78..86] {
        before[place].fill(0xA5);
    }
    seal(&mut before);
    assert_eq!(StoredHotness::decode(&before), StoredHotness::decode(&now));
}

/// As version 1 had it: a header of 48 bytes.
#[test]
fn the_version_before_is_read() {
    let now = small();
    let mut before = now[..44].to_vec();
    before[8] = 1;
    before.extend((xxh3_64_with_seed(&before, 4 << 56) as u32).to_le_bytes());
    before.extend(&now[HOTNESS_HEADER_BYTES..]);
    let read = StoredHotness::decode(&before).unwrap();
    let expected =
        StoredHotness { late_visits: 0.0, late_wasted_reads: 0.0, ..StoredHotness::decode(&now).unwrap() };
    assert_eq!(read, expected);
    before[8] = 0;
    let checksum = (xxh3_64_with_seed(&before[..44], 4 << 56) as u32).to_le_bytes();
    before[44..48].copy_from_slice(&checksum);
    assert!(matches!(StoredHotness::decode(&before), Err(FormatError::Inconsistent { .. })));
}

#[test]
fn the_document_gives_the_places_of_all_fields() {
    let document = std::fs::read_to_string("../../docs/format.md").unwrap();
    let fields = |heading: &str, name: &str| {
        let section =
            document.split(&format!("\n{heading}\n")).nth(1).unwrap_or_else(|| panic!("no {heading}"));
        let section = section.split("\n#").next().unwrap_or_default();
        let rows = section.lines().filter(|line| line.contains(&format!("| {name} |")));
        let places = rows.map(|row| {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let [offset, bytes] = [cells[1], cells[2]].map(|cell| cell.parse::<usize>().unwrap());
            offset..offset + bytes
        });
        places.collect::<Vec<_>>()
    };
    let field = |heading: &str, name: &str| {
        fields(heading, name).first().unwrap_or_else(|| panic!("no {name}")).clone()
    };
    let bytes = small();
    let header = |name| &bytes[field("## Hotness header", name)];
    assert_eq!(header("magic"), HOTNESS_MAGIC);
    assert_eq!(header("version"), HOTNESS_VERSION.to_le_bytes());
    assert_eq!(header("table_count"), 1u32.to_le_bytes());
    assert_eq!(header("body_bytes"), (28u64 + 2 * 13).to_le_bytes());
    assert_eq!(header("budget_bytes"), (1u64 << 20).to_le_bytes());
    assert_eq!(header("bookkeeping_bytes"), 1000u64.to_le_bytes());
    assert_eq!(header("visits_per_lookup"), 2.5f32.to_le_bytes());
    assert_eq!(header("late_visits"), 77.0f32.to_le_bytes());
    assert_eq!(header("late_wasted_reads"), 7.0f32.to_le_bytes());
    let unused = fields("## Hotness header", "unused");
    assert_eq!(unused, [10..12, 44..52, 60..66]);
    assert!(unused.into_iter().all(|place| bytes[place].iter().all(|&byte| byte == 0)));
    assert_eq!(field("## Hotness header", "checksum").end, HOTNESS_HEADER_BYTES);
    let records = &bytes[HOTNESS_HEADER_BYTES..];
    let table = |name| &records[field("## Table record", name)];
    assert_eq!(table("id"), 7u64.to_le_bytes());
    assert_eq!(table("unused"), [0; 8]);
    assert_eq!(table("file_number"), 9u64.to_le_bytes());
    assert_eq!(table("segment_count"), 2u32.to_le_bytes());
    let segments = &records[field("## Table record", "segment_count").end..];
    let segment = |name| &segments[field("## Segment record", name)];
    assert_eq!(segment("access_count"), 3.0f32.to_le_bytes());
    assert_eq!(segment("negatives"), 2.0f32.to_le_bytes());
    assert_eq!(segment("wasted_reads"), 1.0f32.to_le_bytes());
    assert_eq!(segment("units"), [4]);
}
