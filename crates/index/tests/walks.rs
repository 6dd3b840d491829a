//! One cursor that seeks and steps at random finds what a sorted list has, in indexes of all shapes.

use std::collections::BTreeSet;

use rand::RngExt;
use springbloom_index::{Block, Cursor, Packer};
use springbloom_testkit::seed::{TestRng, rng};

const INDEXES: usize = 400;
const STEPS: usize = 500;

/// Few letters or all, short keys or long ones, with much in common or nothing.
fn separators(rng: &mut TestRng) -> BTreeSet<Vec<u8>> {
    let count = [1, 2, 31, 32, 33, 64, 65, 700][rng.random_range(0..8)];
    let letters = [1, 2, 3, 16, 17, 128, 256][rng.random_range(0..7)];
    let lowest = rng.random_range(0..=256_usize - letters);
    let most_bytes = [1, 2, 8, 300, 5_000][rng.random_range(0..5)];
    let common = vec![255; [0, 0, 1, 20, 4_000][rng.random_range(0..5)]];
    let mut key = common.clone();
    let next = |_| {
        // Some differ in their ends alone.
        key.truncate(
            rng.random_range(common.len()..=key.len()).max(key.len() / 2 * usize::from(rng.random::<bool>())),
        );
        let bytes = rng.random_range(0..=most_bytes);
        key.extend((0..bytes).map(|_| (lowest + rng.random_range(0..letters)) as u8));
        key.truncate(66_000);
        key.clone()
    };
    (0..count).map(next).collect()
}

#[test]
fn a_cursor_walks_as_in_a_sorted_list() {
    let rng = &mut rng("a_cursor_walks_as_in_a_sorted_list");
    for _ in 0..INDEXES {
        let most_gap = [0, 5, 5_000, u32::MAX][rng.random_range(0..4)];
        let most_size = [0, 4_096, u32::MAX][rng.random_range(0..3)];
        let mut end = [0, 7, 1 << 40][rng.random_range(0..3)];
        let mut packer = Packer::default();
        let mut all = Vec::new();
        for separator in separators(rng) {
            let (offset, size) =
                (end + u64::from(rng.random_range(0..=most_gap)), rng.random_range(0..=most_size));
            end = offset + u64::from(size);
            packer.add(&separator, offset, size.into());
            all.push((separator, offset, size));
        }
        let index = packer.finish().expect("it can be packed");
        let (mut cursor, mut at) = (Cursor::default(), None);
        for _ in 0..STEPS {
            let (found, expected) = match (rng.random_range(0..8), at) {
                (0..2, Some(at)) => (cursor.next(&index), Some(at + 1)),
                (2..5, Some(at)) => (cursor.previous(&index), usize::checked_sub(at, 1)),
                (5, _) => (cursor.first(&index), Some(0)),
                (6, _) => (cursor.last(&index), Some(all.len() - 1)),
                _ => {
                    let mut key = all[rng.random_range(0..all.len())].0.clone();
                    match rng.random_range(0..4) {
                        0 => key.push(rng.random()),
                        1 => key.truncate(rng.random_range(0..=key.len())),
                        2 if !key.is_empty() => {
                            let changed = rng.random_range(0..key.len());
                            key[changed] = rng.random();
                        }
                        _ => {}
                    }
                    let expected = all.partition_point(|(separator, ..)| *separator < key);
                    (cursor.seek(&index, &key), Some(expected))
                }
            };
            at = expected.filter(|&at| at < all.len());
            let expected = at.map(|at| &all[at]);
            assert_eq!(found, expected.map(|&(_, offset, size)| Block { offset, size }));
            // Decoding it must change nothing.
            if let Some((separator, ..)) = expected.filter(|_| rng.random()) {
                assert_eq!(cursor.separator(&index), separator);
            }
        }
    }
}
