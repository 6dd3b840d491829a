//! Sizes, tries, and the solution against plain Gaussian elimination.

use rand::RngExt;
use springbloom_testkit::{binomial::assert_rate_at_least, seed};

use super::*;

fn random_digests(rng: &mut impl rand::Rng, count: usize) -> Vec<KeyDigest> {
    (0..count).map(|_| KeyDigest { lo: rng.random(), hi: rng.random() }).collect()
}

#[test]
fn units_are_dense() {
    let usual = RibbonShape::new(0, 0);
    assert_eq!((usual.unit_words(0), usual.unit_words(1), usual.unit_words(60)), (0, 1, 1));
    assert_eq!(usual.unit_words(61), 2);
    assert_eq!(usual.unit_words(31_900), 512, "a unit of 31,900 keys is one page");
    let mut last = 0;
    for keys in 1..200_000u32 {
        let words = usual.unit_words(keys);
        assert!(words >= last, "{keys} keys");
        last = words;
        let bits_per_key = f64::from(words * 64) / f64::from(keys);
        let bound = if keys >= 4096 { 1.05 } else { 1.02 + 68.0 / f64::from(keys) };
        assert!(bits_per_key < bound, "{keys} keys: {bits_per_key}");
    }
    assert!(RibbonShape::new(15, 15).unit_words(u32::MAX) > 1 << 26);
}

#[test]
fn a_try_usually_succeeds_at_every_size() {
    let mut rng = seed::rng("a_try_usually_succeeds_at_every_size");
    for (keys, trials) in [
        (1, 500),
        (60, 500),
        (61, 500),
        (124, 500),
        (700, 500),
        (2000, 200),
        (4096, 200),
        (8000, 100),
        (31_900, 40),
        (120_000, 10),
    ] {
        let first = (0..trials)
            .filter(|_| RibbonBuilder::default().build(&random_digests(&mut rng, keys), 1, 1).is_some())
            .count();
        assert_rate_at_least(first as u64, trials, 0.75, &format!("{keys} keys"));
    }
}

#[test]
fn a_build_that_may_not_try_reports_it() {
    assert_eq!(RibbonBuilder::default().build(&[KeyDigest { lo: 1, hi: 2 }], 4, 0), None);
}

#[test]
fn retries_take_the_next_seed_and_then_more_room() {
    let mut rng = seed::rng("retries_take_the_next_seed_and_then_more_room");
    let mut retried = 0;
    for _ in 0..300 {
        let digests = random_digests(&mut rng, 252);
        let first = RibbonBuilder::default().build(&digests, 3, 1);
        let (shape, _) = RibbonBuilder::default().build(&digests, 3, ALL_TRIES).unwrap();
        assert_eq!(first.is_some(), shape == RibbonShape::new(0, 0));
        retried += u32::from(shape.seed() > 0);
    }
    assert!(retried > 0, "the test must see a retry");
}

/// Every word size and the sizes around them: one word, two, an exact multiple, a large system.
#[test]
fn the_solution_is_the_unique_one_whatever_the_order() {
    let mut rng = seed::rng("the_solution_is_the_unique_one_whatever_the_order");
    for keys in [1, 2, 30, 60, 61, 128, 200, 500] {
        let mut digests = random_digests(&mut rng, keys);
        let (shape, units) = RibbonBuilder::default().build(&digests, 32, ALL_TRIES).unwrap();
        assert_eq!(units, oracle(&digests, shape), "{keys} keys");
        digests.reverse();
        assert_eq!(
            RibbonBuilder::default().build(&digests, 32, ALL_TRIES),
            Some((shape, units)),
            "{keys} keys, reversed"
        );
    }
}

/// Fewer equations under way than candidates for a pivot, so that candidates include equations of the next block.
#[test]
fn a_sparse_system_is_solved() {
    let mut rng = seed::rng("a_sparse_system_is_solved");
    for keys in [130, 500] {
        let digests = random_digests(&mut rng, keys);
        let shape = RibbonShape::new(GROWTHS - 1, 0);
        let unit_words = shape.unit_words(keys as u32);
        let mut builder = RibbonBuilder::default();
        assert!(builder.eliminate(&digests, rows::RowHasher::new(0, unit_words), unit_words));
        assert_eq!(solve::solve(&builder.echelon, 32), oracle(&digests, shape), "{keys} keys");
    }
}

/// More equations under way at a time than any system of different digests has.
#[test]
fn a_digest_may_repeat_a_thousand_times() {
    let mut rng = seed::rng("a_digest_may_repeat_a_thousand_times");
    let mut digests = random_digests(&mut rng, 300);
    digests.extend([digests[150]; 1000]);
    let (shape, units) = RibbonBuilder::default().build(&digests, 32, ALL_TRIES).unwrap();
    assert_eq!(units, oracle(&digests, shape));
}

/// Reduced row echelon form of the whole matrix, free variables 0, as the format document says.
fn oracle(digests: &[KeyDigest], shape: RibbonShape) -> Vec<Vec<u8>> {
    let unit_words = shape.unit_words(digests.len() as u32);
    let slots = unit_words as usize * 64;
    let hasher = rows::RowHasher::new(shape.seed(), unit_words);
    let mut matrix: Vec<(Vec<bool>, u32)> = digests
        .iter()
        .map(|&digest| {
            let (start, coefficients) = (hasher.start(digest), hasher.coefficients(digest));
            let mut dense = vec![false; slots];
            (0..128).filter(|i| coefficients >> i & 1 == 1).for_each(|i| dense[start as usize + i] = true);
            (dense, rows::fingerprint(digest))
        })
        .collect();
    let mut solution = vec![0u32; slots];
    let mut done = 0;
    let mut pivots = Vec::new();
    for slot in 0..slots {
        let Some(found) = (done..matrix.len()).find(|&row| matrix[row].0[slot]) else { continue };
        matrix.swap(done, found);
        let (pivot, result) = matrix[done].clone();
        for row in (0..matrix.len()).filter(|&row| row != done) {
            if matrix[row].0[slot] {
                matrix[row].0.iter_mut().zip(&pivot).for_each(|(to, from)| *to ^= from);
                matrix[row].1 ^= result;
            }
        }
        pivots.push(slot);
        done += 1;
    }
    pivots.iter().zip(&matrix).for_each(|(&slot, (_, result))| solution[slot] = *result);
    let byte =
        |unit: usize, at: usize| (0..8).map(|i| (solution[at * 8 + i] >> unit & 1) << i).sum::<u32>() as u8;
    (0..32).map(|unit| (0..slots / 8).map(|at| byte(unit, at)).collect()).collect()
}

#[test]
fn shape_parameters_out_of_range_are_errors() {
    assert!(RibbonShape::from_parameters(GROWTHS, 0).is_err());
    assert!(RibbonShape::from_parameters(0, SEEDS).is_err());
    assert_eq!(RibbonShape::from_parameters(1, 15), Ok(RibbonShape::new(1, 15)));
}
