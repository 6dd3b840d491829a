//! Damage to our block of a table file: right answers always, counted, never a crash.

mod pristine;

use rand::RngExt;
use springbloom_format::HEADER_BYTES;
use springbloom_rocksdb::UnitSettings;
use springbloom_testkit::seed::rng;

use self::pristine::{Pristine, Seen, TRAILER_BYTES};
use crate::common::{AMPLE_BYTES, IDLE_TIMEOUT, build, small_segments, wait_until};

/// Header and directory say what the units mean: damaged, the table is read without units.
fn assert_read_without_units(seen: &Seen, what: &str) {
    assert_eq!((seen.stats.tables, seen.stats.outcomes.rejected), (0, 0), "{what}: {:?}", seen.stats);
    assert!(seen.inspection_complains, "{what}: inspect");
    assert!(seen.stock_complains, "{what}: stock VerifyChecksum");
}

/// A damaged unit is counted, and the rest of the table's units go on.
fn assert_counted(seen: &Seen, units: u64, what: &str) {
    assert_eq!(seen.stats.tables, 1, "{what}: {:?}", seen.stats);
    assert!(seen.stats.corrupt_units >= units, "{what}: {:?}", seen.stats);
    assert!(seen.inspection_complains, "{what}: inspect");
    assert!(seen.stock_complains, "{what}: stock VerifyChecksum");
}

#[test]
fn the_sound_table_is_filtered() {
    let pristine = Pristine::new();
    let seen = pristine.with_damage(pristine.block.start, &[pristine.byte(pristine.block.start)]);
    assert_eq!((seen.stats.tables, seen.stats.corrupt_units), (1, 0));
    assert!(seen.stats.outcomes.rejected > 600, "{:?}", seen.stats);
    assert!(!seen.inspection_complains && !seen.stock_complains);
}

#[test]
fn every_bit_of_the_header() {
    let pristine = Pristine::new();
    for offset in pristine.block.start..pristine.block.start + HEADER_BYTES as u64 {
        for bit in 0..8 {
            let seen = pristine.with_damage(offset, &[pristine.byte(offset) ^ (1 << bit)]);
            assert_read_without_units(&seen, &format!("byte {offset}, bit {bit}"));
        }
    }
    assert!(pristine.is_mended());
}

#[test]
fn every_byte_of_the_directory() {
    let (pristine, mut rng) = (Pristine::new(), rng("every_byte_of_the_directory"));
    for offset in pristine.head().skip(HEADER_BYTES) {
        let bit = rng.random_range(0..8);
        let seen = pristine.with_damage(offset, &[pristine.byte(offset) ^ (1 << bit)]);
        assert_read_without_units(&seen, &format!("byte {offset}, bit {bit}"));
    }
}

#[test]
fn bits_of_every_unit_and_its_checksum() {
    let (pristine, mut rng) = (Pristine::new(), rng("bits_of_every_unit_and_its_checksum"));
    for segment in 0..pristine.directory.segment_count() {
        for unit in 0..pristine.directory.unit_count() {
            let span = pristine.in_file(&pristine.directory.unit_span(segment, unit));
            let inside = rng.random_range(span.clone());
            for offset in [span.start, inside, span.end - 5, span.end - 4, span.end - 1] {
                let bit = rng.random_range(0..8);
                let seen = pristine.with_damage(offset, &[pristine.byte(offset) ^ (1 << bit)]);
                let what = format!("segment {segment}, unit {unit}, byte {offset}, bit {bit}");
                assert_counted(&seen, 1, &what);
                assert!(
                    seen.stats.outcomes.rejected > 300,
                    "{what}: other units still work: {:?}",
                    seen.stats
                );
            }
        }
    }
}

#[test]
fn every_byte_of_the_trailer() {
    let pristine = Pristine::new();
    for offset in pristine.block.end..pristine.block.end + TRAILER_BYTES {
        let seen = pristine.with_damage(offset, &[pristine.byte(offset) ^ 0x10]);
        // Not ours: units have checksums of their own.
        assert_eq!((seen.stats.tables, seen.stats.corrupt_units), (1, 0), "byte {offset}");
        assert!(seen.stats.outcomes.rejected > 600, "byte {offset}");
        assert!(seen.stock_complains, "byte {offset}: stock VerifyChecksum");
    }
}

#[test]
fn whole_stretches_overwritten() {
    let (pristine, mut rng) = (Pristine::new(), rng("whole_stretches_overwritten"));
    let rows: Vec<_> = (0..pristine.directory.unit_count())
        .map(|unit| pristine.in_file(&pristine.directory.row_span(unit)))
        .collect();
    let stretches = [vec![pristine.block.clone(), pristine.head()], rows].concat();
    for span in stretches {
        let size = (span.end - span.start) as usize;
        let noise: Vec<u8> = (0..size).map(|_| rng.random()).collect();
        for damage in [vec![0; size], vec![0xff; size], noise] {
            let seen = pristine.with_damage(span.start, &damage);
            if span.start == pristine.block.start {
                assert_read_without_units(&seen, &format!("{span:?}"));
            } else {
                // One damaged unit is enough for a segment to do without the row and what is behind it.
                assert_counted(&seen, 1, &format!("{span:?}"));
            }
        }
    }
}

#[test]
fn sound_units_in_the_wrong_place() {
    let pristine = Pristine::new();
    let directory = &pristine.directory;
    let mut swaps = 0;
    for unit in 0..directory.unit_count() - 1 {
        for segment in 0..directory.segment_count() - 1 {
            let into = pristine.in_file(&directory.unit_span(segment, unit));
            for (other_segment, other_unit) in [(segment, unit + 1), (segment + 1, unit)] {
                let from = pristine.in_file(&directory.unit_span(other_segment, other_unit));
                if into.end - into.start == from.end - from.start {
                    let seen = pristine.with_damage(into.start, pristine.sound(&from));
                    assert_counted(
                        &seen,
                        1,
                        &format!("unit {other_unit} of {other_segment} at {unit} of {segment}"),
                    );
                    swaps += 1;
                }
            }
        }
    }
    assert!(swaps > 5, "only {swaps} units have a neighbour of their size");
}

/// What a file system, or a fault of ours, may take for the table's own: as long, and sound by itself.
#[test]
fn sound_units_of_another_table() {
    let (pristine, other) = (Pristine::new(), Pristine::new());
    assert_eq!(pristine.block, other.block, "the tables have the same entries");
    for unit in 0..pristine.directory.unit_count() {
        let row = pristine.in_file(&pristine.directory.row_span(unit));
        let seen = pristine.with_damage(row.start, other.sound(&row));
        assert_counted(&seen, 1, &format!("unit {unit}"));
    }
}

#[test]
fn random_bursts_anywhere_in_the_block() {
    let (pristine, mut rng) = (Pristine::new(), rng("random_bursts_anywhere_in_the_block"));
    for _ in 0..150 {
        let begin = rng.random_range(pristine.block.clone());
        let size = rng.random_range(1..=256.min(pristine.block.end - begin)) as usize;
        let damage: Vec<u8> = (0..size).map(|_| rng.random()).collect();
        let is_damage = damage != pristine.sound(&(begin..begin + size as u64));
        let seen = pristine.with_damage(begin, &damage);
        assert_eq!(seen.inspection_complains, is_damage, "{size} bytes at {begin}");
        assert!(
            !is_damage || seen.stats.corrupt_units > 0 || seen.stats.tables == 0,
            "{size} bytes at {begin}"
        );
    }
}

#[test]
fn a_file_that_is_cut_off_under_an_open_database() {
    let elastic = || {
        // Of two bits a key, so that a segment wants four at least: nobody misses a further unit of 8 bits.
        build(small_segments(AMPLE_BYTES).units(UnitSettings::bloom(6, 2).expect("the settings are sound")))
    };
    for row in [0, 3] {
        let (pristine, elastic) = (Pristine::written_by(&elastic()), elastic());
        let db = pristine.open(&elastic);
        assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest");
        assert_eq!(elastic.stats().tables, 1, "{:?}", elastic.stats());
        // All units must be read again when there is room.
        elastic.set_budget_bytes(0).unwrap();
        assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest");
        assert_eq!(elastic.stats().used.units, 0, "{:?}", elastic.stats());
        // Behind the data blocks, which the open reader goes on to read.
        pristine.truncate(pristine.in_file(&pristine.directory.row_span(row)).start + 7);
        elastic.set_budget_bytes(AMPLE_BYTES).unwrap();
        // Segments that found no place are looked at again after many visits.
        wait_until("reads of units fail", || {
            pristine.check(&db);
            assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest");
            elastic.stats().failed_reads > 0
        });
    }
}
