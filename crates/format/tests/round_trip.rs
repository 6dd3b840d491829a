//! Written blocks are read back: segments compared with a naive oracle, units with a direct build.

mod support;

use std::collections::BTreeMap;

use proptest::prelude::*;
use rand::RngExt;
use springbloom_filter::{FilterGroup, KeyDigest, UnitSettings};
use springbloom_format::{
    BlockHeader, BlockWriter, Directory, HEADER_BYTES, MAX_SEGMENT_BYTES_PER_KEY, MAX_SEGMENT_KEYS,
};
use springbloom_testkit::seed;
use support::write;

/// A table's entries in order: user key and entry bytes. Keys may repeat.
type Entries = Vec<(Vec<u8>, u64)>;

struct OracleSegment {
    fence: Vec<u8>,
    digests: Vec<KeyDigest>,
    data_bytes: u64,
}

/// The expected segments of a table.
fn oracle(entries: &Entries, segment_size: u64) -> Vec<OracleSegment> {
    let mut segments: Vec<OracleSegment> = Vec::new();
    let mut last_key: Option<&[u8]> = None;
    for (key, bytes) in entries {
        let repeated = last_key == Some(key);
        let cut = segments.last().is_none_or(|open| {
            open.data_bytes >= segment_size
                && open.digests.len() as u64 >= segment_size / MAX_SEGMENT_BYTES_PER_KEY
        });
        if !repeated && cut {
            segments.push(OracleSegment { fence: key.clone(), digests: Vec::new(), data_bytes: 0 });
        }
        let open = segments.last_mut().unwrap();
        if !repeated {
            open.digests.push(KeyDigest::of(key));
        }
        open.data_bytes += bytes;
        last_key = Some(key);
    }
    if let [.., full, last] = &mut segments[..]
        && (last.data_bytes < segment_size / 4
            || (last.digests.len() as u64) < segment_size / MAX_SEGMENT_BYTES_PER_KEY / 4)
    {
        full.digests.append(&mut last.digests);
        full.data_bytes += last.data_bytes;
        segments.pop();
    }
    segments
}

fn check(settings: UnitSettings, segment_size: u64, entries: &Entries) {
    let block = write(BlockWriter::new(settings, segment_size), entries);
    let expected = oracle(entries, segment_size);
    if expected.is_empty() {
        assert!(block.is_empty());
        return;
    }
    let header = BlockHeader::parse(&block[..HEADER_BYTES]).unwrap();
    assert_eq!(header.block_bytes, block.len() as u64);
    let directory = Directory::parse(&block[..header.head_bytes() as usize]).unwrap();
    assert_eq!(directory.segment_count() as usize, expected.len());
    assert_eq!(directory.unit_count(), settings.unit_count());
    assert_eq!(
        directory.key_count(),
        expected.iter().map(|segment| segment.digests.len() as u64).sum::<u64>()
    );
    for (at, segment) in (0..).zip(&expected) {
        assert_eq!(directory.fence(at), segment.fence);
    }
    assert_eq!(directory.last_key(), entries.last().unwrap().0);

    // Spans tile the block in unit-major order.
    let mut at = header.head_bytes();
    for unit in 0..directory.unit_count() {
        assert_eq!(directory.row_span(unit).start, at);
        for segment in 0..directory.segment_count() {
            let span = directory.unit_span(segment, unit);
            assert_eq!(span.start, at);
            at = span.end;
        }
        assert_eq!(directory.row_span(unit).end, at);
    }
    assert_eq!(at, header.block_bytes);

    let slice = |span: std::ops::Range<u64>| &block[span.start as usize..span.end as usize];
    for (segment, oracle) in (0..).zip(&expected) {
        let built = settings.build(&oracle.digests);
        assert_eq!(directory.shape(segment), built.shape);
        assert_eq!(directory.fence(segment), oracle.fence);
        assert_eq!(directory.data_bytes(segment), oracle.data_bytes);
        for (unit, bytes) in (0..).zip(&built.units) {
            let stored = slice(directory.unit_span(segment, unit));
            assert_eq!(directory.decode_unit(segment, unit, stored).unwrap(), bytes);
        }
    }
    for unit in 0..directory.unit_count() {
        let row = slice(directory.row_span(unit));
        let decoded: BTreeMap<u32, &[u8]> =
            directory.decode_row(unit, row).map(|(segment, bytes)| (segment, bytes.unwrap())).collect();
        assert_eq!(decoded.len(), expected.len());
        for (segment, bytes) in decoded {
            assert_eq!(
                directory.decode_unit(segment, unit, slice(directory.unit_span(segment, unit))),
                Ok(bytes)
            );
        }
    }
}

fn settings() -> impl Strategy<Value = UnitSettings> {
    let bloom = (1..=32u8, 1..=8u8).prop_map(|(units, bits)| UnitSettings::bloom(units, bits).unwrap());
    let ribbon = (1..=32u8).prop_map(|units| UnitSettings::ribbon(units).unwrap());
    prop_oneof![bloom, ribbon]
}

proptest! {
    #[test]
    fn any_table(
        settings in settings(),
        segment_size in 0..2000u64,
        keys in prop::collection::btree_map(prop::collection::vec(any::<u8>(), 0..12), prop::collection::vec(0..300u64, 1..4), 0..120),
    ) {
        let entries: Entries = keys
            .into_iter()
            .flat_map(|(key, versions)| versions.into_iter().map(move |bytes| (key.clone(), bytes)))
            .collect();
        check(settings, segment_size, &entries);
    }
}

proptest! {
    /// Shortened fences tell the same segments apart. The rest of the block is the same.
    #[test]
    fn short_fences_find_the_same_segments(
        keys in prop::collection::btree_set("[ab]{0,9}", 1..60),
        segment_size in 1..500u64,
        sought in prop::collection::vec("[abc]{0,10}", 20),
    ) {
        let build = |mut writer: BlockWriter| {
            keys.iter().for_each(|key| writer.add(key.as_bytes(), 100));
            Directory::parse(&writer.finish()).unwrap()
        };
        let new = || BlockWriter::new(UnitSettings::default(), segment_size);
        let (whole, short) = (build(new()), build(new().with_bytewise_keys()));
        prop_assert_eq!(whole.segment_count(), short.segment_count());
        let of = |directory: &Directory, key: &str| {
            (0..directory.segment_count()).rfind(|&segment| directory.fence(segment) <= key.as_bytes())
        };
        for key in &keys {
            prop_assert_eq!(of(&whole, key), of(&short, key));
        }
        for segment in 0..whole.segment_count() {
            prop_assert_eq!(whole.shape(segment), short.shape(segment));
            prop_assert!(whole.fence(segment).starts_with(short.fence(segment)));
        }
        // A key that is not in the table may lie between a short fence and the first key of its segment.
        for key in &sought {
            let (whole, short) = (of(&whole, key), of(&short, key));
            prop_assert!(whole == short || whole.map(|segment| segment + 1) == short);
        }
    }
}

#[test]
fn fences_are_as_short_as_they_can_be_in_byte_order() {
    let mut writer = BlockWriter::new(UnitSettings::default(), 1).with_bytewise_keys();
    ["4f81aa07", "4f93b1d0", "4f93b1d0e", "5"].iter().for_each(|key| writer.add(key.as_bytes(), 1));
    let directory = Directory::parse(&writer.finish()).unwrap();
    let fences: Vec<_> = (0..4).map(|segment| directory.fence(segment)).collect();
    assert_eq!(fences, [&b"4f81aa07"[..], b"4f9", b"4f93b1d0e", b"5"]);
}

#[test]
fn a_table_of_the_default_shape() {
    let mut rng = seed::rng("a_table_of_the_default_shape");
    let entries: Entries = (0..30_000u32)
        .flat_map(|i| {
            vec![(format!("user{i:020}").into_bytes(), rng.random_range(900..1100)); rng.random_range(1..3)]
        })
        .collect();
    for settings in [UnitSettings::default(), UnitSettings::bloom(6, 4).unwrap()] {
        check(settings, 4 << 20, &entries);
    }
}

proptest! {
    /// Large values, which end a segment by its keys.
    #[test]
    fn any_table_of_large_values(
        segment_size in 2000..40_000u64,
        values in prop::collection::vec(prop_oneof![0..300u64, 1000..3000u64, 5000..100_000u64], 0..120),
    ) {
        let entries: Entries =
            (0..).zip(values).map(|(key, bytes): (u32, u64)| (key.to_be_bytes().to_vec(), bytes)).collect();
        check(UnitSettings::default(), segment_size, &entries);
    }
}

#[test]
fn entries_without_bytes_still_close_a_segment() {
    let key_counts = |keys: usize| {
        let entries: Entries = (0..keys as u32).map(|i| (i.to_be_bytes().to_vec(), 0)).collect();
        let block = write(BlockWriter::new(UnitSettings::bloom(1, 1).unwrap(), 4 << 20), &entries);
        let directory = Directory::parse(&block).unwrap();
        (0..directory.segment_count()).map(|at| directory.shape(at).key_count() as usize).collect::<Vec<_>>()
    };
    let part = MAX_SEGMENT_KEYS / 4;
    assert_eq!(
        key_counts(MAX_SEGMENT_KEYS + part - 1),
        [MAX_SEGMENT_KEYS + part - 1],
        "too little for a second"
    );
    assert_eq!(key_counts(MAX_SEGMENT_KEYS + part), [MAX_SEGMENT_KEYS, part]);
    assert_eq!(key_counts(2 * MAX_SEGMENT_KEYS + 1), [MAX_SEGMENT_KEYS, MAX_SEGMENT_KEYS + 1]);
}

#[test]
fn huge_entries_do_not_overflow() {
    let entries: Entries =
        vec![(b"a".to_vec(), u64::MAX), (b"a".to_vec(), u64::MAX), (b"b".to_vec(), u64::MAX / 4)];
    for (segment_size, segments) in [(1, 2), (u64::MAX, 1)] {
        let block = write(BlockWriter::new(UnitSettings::default(), segment_size), &entries);
        let directory = Directory::parse(&block).unwrap();
        assert_eq!((directory.segment_count(), directory.data_bytes(0)), (segments, u64::MAX));
    }
}

#[test]
fn the_empty_key_is_a_key() {
    check(UnitSettings::default(), 1, &vec![(Vec::new(), 5), (Vec::new(), 5), (b"a".to_vec(), 5)]);
}

#[test]
fn no_keys_no_block() {
    assert_eq!(BlockWriter::new(UnitSettings::default(), 4 << 20).finish(), Vec::<u8>::new());
}

#[test]
fn a_group_from_stored_units_knows_every_key() {
    let entries: Entries = (0..5000u32).map(|i| (i.to_be_bytes().to_vec(), 1000)).collect();
    let block = write(BlockWriter::new(UnitSettings::default(), 1 << 20), &entries);
    let directory = Directory::parse(&block).unwrap();
    for (key, _) in &entries {
        let segment =
            (0..directory.segment_count()).rfind(|&s| directory.fence(s) <= key.as_slice()).unwrap();
        let units: Vec<&[u8]> = (0..directory.unit_count())
            .map(|unit| {
                let span = directory.unit_span(segment, unit);
                directory.decode_unit(segment, unit, &block[span.start as usize..span.end as usize]).unwrap()
            })
            .collect();
        let group = FilterGroup::from_units(directory.shape(segment), &units).unwrap();
        assert!(group.may_match(KeyDigest::of(key)));
    }
}
