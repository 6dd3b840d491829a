//! Measured false positive rates against the analytic ones, within exact binomial bounds.

mod support;

use rand::RngExt;
use springbloom_filter::{BuiltGroup, KeyDigest, UnitSettings};
use springbloom_testkit::{binomial::assert_rate, seed};
use support::{digests, every_settings, prefix};

/// The number of absent keys that match the first 0, 1, 2, ... units, over groups of fresh random keys.
///
/// Keys tested against the same group are not independent, so small groups get few trials each. A binomial bound holds if the variance
/// between groups is small compared with that within them.
fn survivors(
    settings: UnitSettings,
    key_count: usize,
    groups: u64,
    trials_per_group: u64,
) -> (BuiltGroup, Vec<u64>) {
    let mut rng = seed::rng(&format!("{settings}, {key_count} keys"));
    let mut survivors = vec![0; usize::from(settings.unit_count()) + 1];
    let mut last = None;
    for _ in 0..groups {
        let built = settings.build(&digests(rng.random(), key_count));
        let prefixes: Vec<_> = (1..=settings.unit_count()).map(|n| prefix(&built, n)).collect();
        for _ in 0..trials_per_group {
            let absent = KeyDigest { lo: rng.random(), hi: rng.random() };
            let matched = prefixes.iter().take_while(|group| group.may_match(absent)).count();
            survivors[..=matched].iter_mut().for_each(|count| *count += 1);
        }
        last = Some(built);
    }
    (last.unwrap(), survivors)
}

/// Each unit rejects its share of the keys that pass earlier units, so the rate is right and the units are independent.
fn assert_separable(settings: UnitSettings, key_count: usize, groups: u64, trials_per_group: u64) {
    let (built, survivors) = survivors(settings, key_count, groups, trials_per_group);
    for resident in 1..=settings.unit_count() {
        let (before, after) = (survivors[usize::from(resident) - 1], survivors[usize::from(resident)]);
        let rate = built.shape.false_positive_rate(resident) / built.shape.false_positive_rate(resident - 1);
        let what = format!("{settings}, {key_count} keys, unit {}", resident - 1);
        if before > 0 {
            assert_rate(after, before, rate, &what);
        }
        assert_rate(
            after,
            survivors[0],
            built.shape.false_positive_rate(resident),
            &format!("{what} and before"),
        );
    }
}

#[test]
fn segments_of_the_default_size() {
    for settings in every_settings() {
        assert_separable(settings, 4096, 40, 2500);
    }
}

#[test]
fn large_segments() {
    for settings in every_settings() {
        assert_separable(settings, 30_000, 4, 20_000);
    }
}

#[test]
fn tiny_segments() {
    for settings in every_settings() {
        for key_count in [1, 2, 5, 16, 50, 64, 65, 150] {
            assert_separable(settings, key_count, 5_000, 1);
        }
    }
}

#[test]
fn six_units_of_four_bits_are_worth_one_filter_of_24_bits() {
    let shape = UnitSettings::bloom(6, 4).unwrap().build(&digests(0, 10_000)).shape;
    for units in 1..=6u8 {
        let bits = 4.0 * f64::from(units);
        // The rate of an optimal Bloom filter of the same size, with a fractional number of probes: 2^-(bits ln 2).
        let optimum = 0.5f64.powf(bits * std::f64::consts::LN_2);
        let loss = shape.false_positive_rate(units) / optimum;
        assert!((1.0..1.004f64.powi(units.into()) * 1.001).contains(&loss), "{units} units: {loss}");
    }
}

#[test]
fn rates_of_a_unit_by_bits_per_key() {
    // Textbook (1 - e^(-k/b))^k for the chosen numbers of probes.
    let expected = [0.632, 0.393, 0.237, 0.147, 0.0918, 0.0561, 0.0347, 0.0217];
    for (bits, rate) in (1..).zip(expected) {
        let shape = UnitSettings::bloom(1, bits).unwrap().build(&digests(0, 10_000)).shape;
        let got = shape.false_positive_rate(1);
        assert!((got / rate - 1.0).abs() < 0.005, "{bits} bits: {got}");
    }
}
