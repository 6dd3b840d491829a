//! Properties of single units that the group's interface cannot show: any unit alone, any pair, any triple.

use rand::RngExt;
use springbloom_testkit::{binomial::assert_rate, seed};

use super::*;
use crate::MAX_UNITS;

const KEYS: usize = 8192;
const TRIALS: u64 = 400_000;

fn random_digest(rng: &mut impl rand::Rng) -> KeyDigest {
    KeyDigest { lo: rng.random(), hi: rng.random() }
}

#[test]
fn probe_counts_are_the_best_or_within_a_percent() {
    for bits_per_key in 1..=8u8 {
        let keys = 1 << 20;
        let rate = |probes| fpr::bloom_fpr(keys * u64::from(bits_per_key), keys, probes);
        let best = (1..=MAX_PROBES).map(rate).fold(1.0, f64::min);
        let chosen = BloomShape::for_bits(bits_per_key).probes();
        assert!(
            rate(chosen) <= best * 1.01,
            "{bits_per_key} bits: {chosen} probes {} > {best}",
            rate(chosen)
        );
    }
}

#[test]
fn all_32_units_alone_err_at_the_analytic_rate_and_in_pairs_and_triples_at_its_powers() {
    let mut rng = seed::rng("all_32_units");
    let bloom = BloomShape::for_bits(4);
    let digests: Vec<_> = (0..KEYS).map(|_| random_digest(&mut rng)).collect();
    let unit_words = bloom.unit_words(KEYS as u32);
    let units: Vec<Vec<u64>> = (0..MAX_UNITS)
        .map(|unit| {
            let bytes = bloom.build(unit, unit_words, &digests);
            bytes.as_chunks::<8>().0.iter().map(|&word| u64::from_le_bytes(word)).collect()
        })
        .collect();
    // The rate of these very units, from the bits that are set: no variance between builds in the comparison.
    let rates: Vec<f64> = units
        .iter()
        .map(|words| {
            let set: u32 = words.iter().map(|word| word.count_ones()).sum();
            (f64::from(set) / (words.len() * 64) as f64).powi(bloom.probes().into())
        })
        .collect();
    let mean = rates.iter().sum::<f64>() / f64::from(MAX_UNITS);
    assert!((mean / bloom.unit_fpr(KEYS as u32) - 1.0).abs() < 0.01, "{mean}");

    let mut single = [0u64; 32];
    let mut pairs = [[0u64; 32]; 32];
    let mut triples = [0u64; 30];
    for _ in 0..TRIALS {
        let digest = random_digest(&mut rng);
        let hits = units
            .iter()
            .enumerate()
            .fold(0u32, |hits, (unit, words)| hits | u32::from(match_unit::<3>(words, unit, digest)) << unit);
        for a in (0..32).filter(|a| hits >> a & 1 == 1) {
            single[a] += 1;
            (a + 1..32).filter(|b| hits >> b & 1 == 1).for_each(|b| pairs[a][b] += 1);
            triples.get_mut(a).filter(|_| hits >> a & 7 == 7).into_iter().for_each(|n| *n += 1);
        }
    }
    for a in 0..32 {
        assert_rate(single[a], TRIALS, rates[a], &format!("unit {a}"));
        for b in a + 1..32 {
            assert_rate(pairs[a][b], TRIALS, rates[a] * rates[b], &format!("units {a} and {b}"));
        }
    }
    for (a, &hits) in triples.iter().enumerate() {
        let rate = rates[a] * rates[a + 1] * rates[a + 2];
        assert_rate(hits, TRIALS, rate, &format!("units {a} to {}", a + 2));
    }
}

#[test]
fn shape_parameters_out_of_range_are_errors() {
    for (bits, probes) in [(0, 3), (9, 3), (4, 0), (4, 9), (255, 255)] {
        assert!(BloomShape::from_parameters(bits, probes).is_err(), "{bits} {probes}");
    }
    assert_eq!(BloomShape::from_parameters(4, 3), Ok(BloomShape::for_bits(4)));
}
