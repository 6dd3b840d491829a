//! Goodness of fit of counts to a distribution (Pearson's chi-square).

use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::FALSE_ALARM;

/// Cells with a smaller expectation are merged with their neighbours: the statistic is not chi-square there.
const MIN_EXPECTED_COUNT: f64 = 8.0;

/// Fails unless `observed` counts are compatible with the probabilities `expected_p` (same order, summing to 1).
#[track_caller]
pub fn assert_fits(observed: &[u64], expected_p: &[f64], what: &str) {
    assert_eq!(observed.len(), expected_p.len(), "{what}: cells observed and expected");
    let total_p: f64 = expected_p.iter().sum();
    assert!((total_p - 1.0).abs() < 1e-6, "{what}: expected probabilities sum to {total_p}");
    let chance = chance_of_fit(observed, expected_p);
    assert!(chance >= FALSE_ALARM, "{what}: counts do not fit the distribution; chance {chance:.1e}");
}

/// Chance of a fit as bad as this one or worse, if the distribution is the expected one.
fn chance_of_fit(observed: &[u64], expected_p: &[f64]) -> f64 {
    let trials: u64 = observed.iter().sum();
    let mut cells: Vec<(f64, f64)> = Vec::new();
    let (mut count, mut expected) = (0.0, 0.0);
    for (&n, &p) in observed.iter().zip(expected_p) {
        count += n as f64;
        expected += p * trials as f64;
        if expected >= MIN_EXPECTED_COUNT {
            cells.push((count, expected));
            (count, expected) = (0.0, 0.0);
        }
    }
    if let Some(last) = cells.last_mut() {
        last.0 += count;
        last.1 += expected;
    }
    assert!(cells.len() > 1, "too few trials ({trials}) for a chi-square test");
    let statistic: f64 = cells.iter().map(|(n, e)| (n - e).powi(2) / e).sum();
    ChiSquared::new((cells.len() - 1) as f64).expect("positive degrees of freedom").sf(statistic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed;
    use rand::RngExt;

    #[test]
    fn a_fair_die_fits_and_a_loaded_one_does_not() {
        let mut rng = seed::rng("a_fair_die_fits_and_a_loaded_one_does_not");
        let mut counts = [0u64; 6];
        for _ in 0..60_000 {
            counts[rng.random_range(0..6)] += 1;
        }
        assert_fits(&counts, &[1.0 / 6.0; 6], "die");
        counts[0] += 1_500;
        assert!(std::panic::catch_unwind(|| assert_fits(&counts, &[1.0 / 6.0; 6], "loaded die")).is_err());
    }

    #[test]
    fn known_statistic() {
        // (10-20)^2/20 + (30-20)^2/20 = 10 with one degree of freedom: sf = 0.00157.
        assert!((chance_of_fit(&[10, 30], &[0.5, 0.5]) - 0.001_565).abs() < 1e-5);
    }
}
