//! Blocks over the prefixes of keys.

use std::collections::BTreeSet;

use proptest::prelude::*;
use springbloom_filter::{FilterGroup, KeyDigest, UnitSettings};
use springbloom_format::{BlockHeader, BlockWriter, Contents, Directory, PrefixWriter, UNSORTED_BYTES_MAX};

const IDENTITY: u32 = 77;

/// Whether the units of a block let the key or prefix pass, as a manager asks them.
fn may_match(block: &[u8], directory: &Directory, key: &[u8]) -> bool {
    let segments = 0..directory.segment_count();
    let Some(segment) = segments.rev().find(|&segment| directory.fence(segment) <= key) else { return false };
    let units: Vec<_> = (0..directory.unit_count())
        .map(|unit| {
            let span = directory.unit_span(segment, unit);
            directory.decode_unit(segment, unit, &block[span.start as usize..span.end as usize]).unwrap()
        })
        .collect();
    FilterGroup::from_units(directory.shape(segment), &units).unwrap().may_match(KeyDigest::of(key))
}

fn keys_of(keys: &[Vec<u8>]) -> BlockWriter {
    let mut writer = BlockWriter::new(UnitSettings::default(), 2000).with_identity(IDENTITY);
    keys.iter().for_each(|key| writer.add(key, 100));
    writer
}

fn prefixes_of(keys: &[Vec<u8>], length: usize, is_bytewise: bool) -> PrefixWriter {
    let mut writer = writer(UnitSettings::default(), 2000, is_bytewise);
    keys.iter().filter_map(|key| key.get(..length)).for_each(|prefix| _ = writer.add(prefix, 100));
    writer
}

fn writer(units: UnitSettings, segment_size: u64, is_bytewise: bool) -> PrefixWriter {
    let writer = PrefixWriter::new(units, segment_size, IDENTITY);
    if is_bytewise { writer.with_bytewise_keys() } else { writer }
}

proptest! {
    #[test]
    fn both_blocks_hold_what_was_added_in_any_order_of_keys(
        keys in proptest::collection::vec(proptest::collection::vec(0..4u8, 0..7), 0..300),
        length in 0..6usize,
        has_keys: bool,
        order in 0..3,
        is_told: bool,
    ) {
        let mut keys = keys;
        match order {
            0 => keys.sort(),
            1 => keys.sort_by(|a, b| b.cmp(a)),
            _ => (), // what no comparator of RocksDB's allows
        }
        let expected: BTreeSet<_> = keys.iter().filter_map(|key| key.get(..length)).collect();
        let prefixes = prefixes_of(&keys, length, order == 0 && is_told).end();
        let keys_added: &[Vec<u8>] = if has_keys { &keys } else { &[] };
        let block = keys_of(keys_added).end_before(prefixes).into_bytes().unwrap();
        if block.is_empty() {
            prop_assert!(expected.is_empty() && keys_added.is_empty());
            return Ok(());
        }
        let header = BlockHeader::parse(&block).unwrap();
        prop_assert_eq!(header.block_bytes, block.len() as u64);
        let first = Directory::parse(&block).unwrap();
        if order == 0 {
            for key in keys_added {
                prop_assert!(may_match(&block, &first, key));
            }
        }
        let at = match first.contents() {
            Contents::Keys => block.len(),
            Contents::KeysBeforePrefixes => first.prefixes_at().unwrap() as usize,
            Contents::Prefixes => 0,
        };
        prop_assert_eq!(at == block.len(), expected.is_empty());
        if at < block.len() {
            let block = &block[at..];
            let directory = Directory::parse(block).unwrap();
            prop_assert_eq!(directory.contents(), Contents::Prefixes);
            prop_assert_eq!(directory.block_bytes(), block.len() as u64);
            prop_assert_eq!(directory.key_count(), expected.len() as u64);
            prop_assert_eq!(directory.fence(0), *expected.first().unwrap());
            prop_assert_eq!(directory.last_key(), *expected.last().unwrap());
            let segments = 0..directory.segment_count();
            let data_bytes: u64 = segments.map(|segment| directory.data_bytes(segment)).sum();
            let with_prefix = keys.iter().filter(|key| key.len() >= length).count() as u64;
            prop_assert_eq!(data_bytes, 100 * with_prefix);
            for prefix in expected {
                prop_assert!(may_match(block, &directory, prefix));
            }
        }
    }
}

#[test]
fn without_prefixes_a_block_is_what_it_was_before_there_were_any() {
    let keys: Vec<_> = (0..2000u32).map(|key| key.to_be_bytes().to_vec()).collect();
    let alone = keys_of(&keys).finish();
    let none = prefixes_of(&[], 2, true).end();
    let block = keys_of(&keys).end_before(none).into_bytes().unwrap();
    assert_eq!(block, alone);
    assert_eq!((block[8], block[11]), (1, 0));
}

#[test]
fn units_of_keys_are_not_taken_for_those_of_prefixes() {
    // The prefixes are the keys, so that all but the identity is the same.
    let keys: Vec<_> = (0..2000u32).map(|key| key.to_be_bytes().to_vec()).collect();
    let block = keys_of(&keys).end_before(prefixes_of(&keys, 4, true).end()).into_bytes().unwrap();
    assert_eq!((block[8], block[11]), (2, 1), "a reader of version 1 refuses it");
    let of_keys = Directory::parse(&block).unwrap();
    let of_prefixes = Directory::parse(&block[of_keys.prefixes_at().unwrap() as usize..]).unwrap();
    assert_eq!(of_keys.shape(0), of_prefixes.shape(0));
    let span = of_keys.unit_span(0, 0);
    let unit = &block[span.start as usize..span.end as usize];
    of_keys.decode_unit(0, 0, unit).unwrap();
    of_prefixes.decode_unit(0, 0, unit).unwrap_err();
}

/// Prefixes that are said to be in order need no memory, and are given up when one is not; others are sorted up to a bound.
#[test]
fn memory_for_prefixes_is_bounded() {
    // 24 bytes and 8 more for each: the bound of those in no order is at two million.
    let prefix = |number: u64| [&number.to_be_bytes()[..], &[7; 16]].concat();
    let fits = UNSORTED_BYTES_MAX as u64 / 32;
    let in_order: Box<dyn Fn(u64) -> u64> = Box::new(|at| at);
    let reversed: Box<dyn Fn(u64) -> u64> = Box::new(|at| u64::MAX - at);
    // The last one is not in order.
    let late: Box<dyn Fn(u64) -> u64> = Box::new(|at| if at == 1_000_000 { 0 } else { at + 1 });
    for (number, is_bytewise, count, has_units, most_bytes) in [
        (&in_order, true, 2 * fits, true, 20 << 20),
        (&reversed, false, fits, true, 2 * UNSORTED_BYTES_MAX),
        (&reversed, false, fits + 1, false, 2 * UNSORTED_BYTES_MAX),
        (&late, true, 1_000_000, true, 20 << 20),
        (&late, true, 1_000_001, false, 20 << 20),
        (&late, false, 1_000_001, true, 2 * UNSORTED_BYTES_MAX),
    ] {
        let units = UnitSettings::bloom(1, 1).unwrap();
        let mut writer = writer(units, 8 << 20, is_bytewise);
        let mut most = 0;
        for at in 0..count {
            writer.add(&prefix(number(at)), 1000);
            if at % 1000 == 0 {
                most = most.max(writer.memory_bytes());
            }
        }
        let block = writer.end().into_bytes().unwrap();
        assert!(most < most_bytes, "{most} bytes");
        assert_eq!(!block.is_empty(), has_units);
        if has_units {
            let directory = Directory::parse(&block).unwrap();
            assert_eq!(directory.key_count(), count);
            for at in (0..count).step_by(10_007) {
                assert!(may_match(&block, &directory, &prefix(number(at))));
            }
        }
    }
}
