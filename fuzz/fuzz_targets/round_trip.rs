//! A table from the fuzzer's keys, written and read back: every key matches in the segment that its fence says, under
//! every prefix of the units, and segments follow the rule of a naive oracle.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::{arbitrary, fuzz_target};
use springbloom_filter::{FilterGroup, KeyDigest, UnitSettings};
use springbloom_format::{BlockWriter, Directory, MAX_SEGMENT_BYTES_PER_KEY};

#[derive(arbitrary::Arbitrary, Debug)]
struct Table<'a> {
    unit_count: u8,
    /// 0 for ribbon units.
    bits_per_key: u8,
    segment_size: u16,
    /// Sizes of the versions of each key.
    entries: BTreeMap<&'a [u8], Vec<u16>>,
}

fuzz_target!(|table: Table<'_>| {
    let unit_count = table.unit_count % 32 + 1;
    let settings = match table.bits_per_key % 9 {
        0 => UnitSettings::ribbon(unit_count),
        bits => UnitSettings::bloom(unit_count, bits),
    };
    let settings = settings.unwrap();
    let mut writer = BlockWriter::new(settings, table.segment_size.into());
    let segment_size = u64::from(table.segment_size);
    let is_at_least = |keys: &[_], data_bytes: u64, part: u64| {
        data_bytes >= segment_size / part
            && keys.len() as u64 >= segment_size / MAX_SEGMENT_BYTES_PER_KEY / part
    };
    // Segments by the rule alone: a new key opens one if the last has its bytes and its keys.
    let mut segments: Vec<(Vec<&[u8]>, u64)> = Vec::new();
    for (key, versions) in &table.entries {
        for (version, &bytes) in versions.iter().enumerate() {
            writer.add(key, bytes.into());
            let full = segments.last().is_none_or(|(keys, data_bytes)| is_at_least(keys, *data_bytes, 1));
            if version == 0 && full {
                segments.push((Vec::new(), 0));
            }
            let (keys, data_bytes) = segments.last_mut().unwrap();
            *data_bytes += u64::from(bytes);
            if version == 0 {
                keys.push(key);
            }
        }
    }
    // A tail of less than a quarter joins the last segment.
    if let [.., full, (keys, data_bytes)] = &mut segments[..]
        && !is_at_least(keys, *data_bytes, 4)
    {
        full.0.append(keys);
        full.1 += *data_bytes;
        segments.pop();
    }
    let block = writer.finish();
    if segments.is_empty() {
        assert!(block.is_empty());
        return;
    }
    let directory = Directory::parse(&block).unwrap();
    assert_eq!(directory.segment_count() as usize, segments.len());
    assert_eq!(directory.block_bytes(), block.len() as u64);
    assert_eq!(segments.last().and_then(|(keys, _)| keys.last()), Some(&directory.last_key()));
    for (segment, (keys, data_bytes)) in (0..).zip(&segments) {
        assert_eq!(directory.fence(segment), keys[0]);
        assert_eq!(directory.data_bytes(segment), *data_bytes);
        assert_eq!(directory.shape(segment).key_count() as usize, keys.len());
        let mut units: Vec<&[u8]> = Vec::new();
        for unit in 0..directory.unit_count() {
            let span = directory.unit_span(segment, unit);
            let bytes = &block[span.start as usize..span.end as usize];
            units.push(directory.decode_unit(segment, unit, bytes).unwrap());
            let group = FilterGroup::from_units(directory.shape(segment), &units).unwrap();
            assert!(keys.iter().all(|key| group.may_match(KeyDigest::of(key))));
        }
    }
});
