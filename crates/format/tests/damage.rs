//! Decoding is total, and damage is detected or harmless.

mod support;

use proptest::prelude::*;
use rand::RngExt;
use springbloom_filter::UnitSettings;
use springbloom_format::{BlockHeader, BlockWriter, Directory, FORMAT_VERSION, FormatError, HEADER_BYTES};
use springbloom_testkit::seed;
use support::write;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// All units of a block that decode: segment, unit, bytes. Never panics.
fn readable_units(block: &[u8]) -> Vec<(u32, u8, Vec<u8>)> {
    let Ok(directory) = Directory::parse(block) else { return Vec::new() };
    let mut units = Vec::new();
    for unit in 0..directory.unit_count() {
        let row = directory.row_span(unit);
        let at = |offset: u64| (offset as usize).min(block.len());
        let by_row: Vec<_> = directory.decode_row(unit, &block[at(row.start)..at(row.end)]).collect();
        for (segment, in_row) in by_row {
            let span = directory.unit_span(segment, unit);
            let alone = directory.decode_unit(segment, unit, &block[at(span.start)..at(span.end)]);
            assert_eq!(alone, in_row, "a unit reads the same alone and in its row");
            units.extend(alone.ok().map(|bytes| (segment, unit, bytes.to_vec())));
        }
    }
    units
}

fn block_of(keys: u32, settings: UnitSettings) -> Vec<u8> {
    let entries: Vec<_> = (0..keys).map(|i| (i.to_be_bytes().to_vec(), 100)).collect();
    write(BlockWriter::new(settings, 3_000), &entries)
}

#[test]
fn no_flipped_bit_gives_other_units() {
    for pristine in [
        block_of(3, UnitSettings::bloom(2, 4).unwrap()),
        block_of(100, UnitSettings::default()),
        block_of(100, UnitSettings::ribbon(8).unwrap()),
    ] {
        let expected = readable_units(&pristine);
        for bit in 0..pristine.len() * 8 {
            let mut block = pristine.clone();
            block[bit / 8] ^= 1 << (bit % 8);
            let units = readable_units(&block);
            assert!(units.len() < expected.len(), "flip of bit {bit} was not noticed");
            assert!(units.iter().all(|unit| expected.contains(unit)), "flip of bit {bit} changed a unit");
            if bit / 8 >= head_bytes(&pristine) {
                assert_eq!(units.len(), expected.len() - 1, "flip of bit {bit} harms one unit alone");
            }
        }
    }
}

fn head_bytes(block: &[u8]) -> usize {
    BlockHeader::parse(block).unwrap().head_bytes() as usize
}

#[test]
fn a_block_cut_anywhere_says_so_and_keeps_whole_units() {
    let pristine = block_of(100, UnitSettings::default());
    let expected = readable_units(&pristine);
    for len in 0..pristine.len() {
        let block = &pristine[..len];
        if len < head_bytes(&pristine) {
            let part = if len < HEADER_BYTES { "header" } else { "directory" };
            let error = Directory::parse(block).unwrap_err();
            assert!(matches!(error, FormatError::Truncated { part: p, .. } if p == part), "{len}: {error}");
        } else {
            let units = readable_units(block);
            assert!(units.len() < expected.len() && expected.starts_with(&units), "{len} bytes");
        }
    }
}

#[test]
fn every_kind_of_wrong_block_has_its_own_error() {
    let block = block_of(3, UnitSettings::default());
    let parse = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut block = block.clone();
        change(&mut block);
        Directory::parse(&block).unwrap_err()
    };
    assert!(matches!(parse(&|b| b[0] = b'X'), FormatError::Foreign { .. }));
    assert!(matches!(parse(&|b| b[8] = 4), FormatError::NewerVersion { got: 4, newest: FORMAT_VERSION }));
    assert!(matches!(parse(&|b| b[20] ^= 1), FormatError::Checksum { part: "header", .. }));
    assert!(matches!(parse(&|b| b[HEADER_BYTES + 9] ^= 1), FormatError::Checksum { part: "directory", .. }));
    assert!(matches!(parse(&|b| b.truncate(3)), FormatError::Truncated { part: "header", got: 3, .. }));
    assert!(matches!(parse(&|b| b.truncate(60)), FormatError::Truncated { part: "directory", .. }));
    let unknown_kind = parse(&|b| {
        b[HEADER_BYTES] = 200;
        sign(b);
    });
    assert!(matches!(unknown_kind, FormatError::Shape { segment: 0, .. }), "{unknown_kind}");
    for (version, contents) in [(1, 1), (1, 2), (2, 0), (2, 3)] {
        let unknown = parse(&|b| {
            (b[8], b[11]) = (version, contents);
            sign(b);
        });
        assert!(matches!(unknown, FormatError::Inconsistent { field: "contents", .. }), "{unknown}");
    }
}

#[test]
fn a_block_shorter_than_its_own_header_is_an_error() {
    for (block_bytes, directory_bytes) in [(0, 0), (39, 0), (40, 1), (100, 61), (100, u64::MAX)] {
        let mut block = block_of(3, UnitSettings::default());
        block[16..24].copy_from_slice(&u64::to_le_bytes(block_bytes));
        block[24..32].copy_from_slice(&u64::to_le_bytes(directory_bytes));
        sign(&mut block);
        let error = BlockHeader::parse(&block).unwrap_err();
        assert!(matches!(error, FormatError::Inconsistent { field: "directory_bytes", .. }), "{error}");
    }
}

#[test]
fn intact_units_in_the_wrong_place_are_damage() {
    let block = block_of(90, UnitSettings::default());
    let directory = Directory::parse(&block).unwrap();
    assert!(directory.segment_count() >= 3);
    let bytes = |segment, unit| {
        let span = directory.unit_span(segment, unit);
        &block[span.start as usize..span.end as usize]
    };
    assert_eq!(bytes(0, 0).len(), bytes(1, 0).len(), "the segments must be swappable for this test");
    assert!(directory.decode_unit(0, 0, bytes(0, 0)).is_ok());
    for (segment, unit) in [(1, 0), (0, 1), (1, 1)] {
        let swapped = directory.decode_unit(0, 0, bytes(segment, unit));
        assert!(matches!(swapped, Err(FormatError::Checksum { part: "unit", .. })), "{segment} {unit}");
    }
    let long = [bytes(0, 0), &[0]].concat();
    assert!(matches!(directory.decode_unit(0, 0, &long), Err(FormatError::Inconsistent { .. })));
}

#[test]
fn intact_units_of_another_table_are_damage() {
    let entries: Vec<_> = (0..50u32).map(|i| (i.to_be_bytes().to_vec(), 100)).collect();
    let block =
        |identity| write(BlockWriter::new(UnitSettings::default(), 3_000).with_identity(identity), &entries);
    let mut pristine = block(1);
    let own = readable_units(&pristine).len();
    let head = head_bytes(&pristine);
    pristine.splice(head.., block(2).split_off(head));
    assert_eq!(
        (own > 0, readable_units(&pristine)),
        (true, Vec::new()),
        "the same keys, and not the same table"
    );
}

/// Corrects the checksums of header and directory, so that the checks after them are reached.
fn sign(block: &mut [u8]) {
    if block.len() < HEADER_BYTES {
        return;
    }
    let sum = xxh3_64_with_seed(&block[..36], 1 << 56) as u32;
    block[36..40].copy_from_slice(&sum.to_le_bytes());
    let directory_bytes = u64::from_le_bytes(block[24..32].try_into().unwrap());
    let end = usize::try_from(directory_bytes).unwrap_or(usize::MAX).saturating_add(HEADER_BYTES);
    if directory_bytes >= 4 && end <= block.len() {
        let sum = xxh3_64_with_seed(&block[HEADER_BYTES..end - 4], 2 << 56) as u32;
        block[end - 4..end].copy_from_slice(&sum.to_le_bytes());
    }
}

#[test]
fn damage_with_right_checksums_never_panics() {
    let mut rng = seed::rng("damage_with_right_checksums_never_panics");
    let settings = [UnitSettings::bloom(3, 4).unwrap(), UnitSettings::ribbon(3).unwrap()];
    let pristine = block_of(60, settings[rng.random_range(0..2)]);
    let head = head_bytes(&pristine);
    let interesting = [0u8, 1, 2, 0x7f, 0x80, 0xff];
    let mut accepted = 0;
    for _ in 0..200_000 {
        let mut block = pristine.clone();
        for _ in 0..rng.random_range(1..4) {
            let at = rng.random_range(8..head);
            block[at] = if rng.random() { rng.random() } else { interesting[rng.random_range(0..6)] };
        }
        sign(&mut block);
        accepted += usize::from(!readable_units(&block).is_empty());
    }
    assert!(accepted > 100, "the damage must reach behind the checksums: {accepted}");
}

proptest! {
    #[test]
    fn any_bytes(bytes: Vec<u8>) {
        readable_units(&bytes);
    }

    #[test]
    fn any_bytes_behind_a_right_header(
        rest: Vec<u8>,
        segment_count: u32,
        unit_count in 0..40u8,
        block_bytes: u64,
        directory_bytes in 0..300u64,
    ) {
        let mut block = block_of(3, UnitSettings::default())[..HEADER_BYTES].to_vec();
        block[10] = unit_count;
        block[12..16].copy_from_slice(&(segment_count >> (segment_count % 32)).to_le_bytes());
        block[16..24].copy_from_slice(&block_bytes.to_le_bytes());
        block[24..32].copy_from_slice(&directory_bytes.to_le_bytes());
        block.extend(rest);
        sign(&mut block);
        readable_units(&block);
    }
}
