//! Assertions on measured rates, with exact binomial bounds.
//!
//! They compare `successes` of `trials` independent trials with a probability. A correct program fails an assertion with a probability
//! below [`FALSE_ALARM`].

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::FALSE_ALARM;

/// Fails unless the rate is compatible with `expected_p`.
#[track_caller]
pub fn assert_rate(successes: u64, trials: u64, expected_p: f64, what: &str) {
    assert_rate_within(successes, trials, expected_p, expected_p, what);
}

/// Fails if the rate shows that the true probability is above `bound_p`.
#[track_caller]
pub fn assert_rate_at_most(successes: u64, trials: u64, bound_p: f64, what: &str) {
    assert_rate_within(successes, trials, 0.0, bound_p, what);
}

/// Fails if the rate shows that the true probability is below `bound_p`.
#[track_caller]
pub fn assert_rate_at_least(successes: u64, trials: u64, bound_p: f64, what: &str) {
    assert_rate_within(successes, trials, bound_p, 1.0, what);
}

/// Fails if the rate shows that the true probability is outside `low_p..=high_p`. For cases in which theory is only good to a few percent.
#[track_caller]
pub fn assert_rate_within(successes: u64, trials: u64, low_p: f64, high_p: f64, what: &str) {
    assert!(successes <= trials && trials > 0, "{what}: {successes} successes of {trials} trials");
    assert!(
        (0.0..=1.0).contains(&low_p) && low_p <= high_p && high_p <= 1.0,
        "{what}: bounds {low_p}..={high_p}"
    );
    let rate = successes as f64 / trials as f64;
    let below = chance_of_at_most(successes, trials, low_p);
    assert!(
        below >= FALSE_ALARM,
        "{what}: rate {rate:.3e} ({successes} of {trials}), expected at least {low_p:.3e}; chance {below:.1e}"
    );
    let above = chance_of_at_least(successes, trials, high_p);
    assert!(
        above >= FALSE_ALARM,
        "{what}: rate {rate:.3e} ({successes} of {trials}), expected at most {high_p:.3e}; chance {above:.1e}"
    );
}

/// P(X <= successes) for X ~ Binomial(trials, p).
pub fn chance_of_at_most(successes: u64, trials: u64, p: f64) -> f64 {
    binomial(trials, p).cdf(successes)
}

/// P(X >= successes) for X ~ Binomial(trials, p).
pub fn chance_of_at_least(successes: u64, trials: u64, p: f64) -> f64 {
    match successes.checked_sub(1) {
        None => 1.0,
        Some(fewer) => binomial(trials, p).sf(fewer),
    }
}

#[track_caller]
fn binomial(trials: u64, p: f64) -> Binomial {
    Binomial::new(p, trials).unwrap_or_else(|error| panic!("binomial({trials}, {p}): {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(check: impl FnOnce() + std::panic::UnwindSafe) -> bool {
        std::panic::catch_unwind(check).is_err()
    }

    #[test]
    fn exact_tails() {
        assert!((chance_of_at_most(0, 10, 0.5) - 0.5f64.powi(10)).abs() < 1e-12);
        assert!((chance_of_at_least(10, 10, 0.5) - 0.5f64.powi(10)).abs() < 1e-12);
        assert!((chance_of_at_least(1, 3, 0.25) - (1.0 - 0.75f64.powi(3))).abs() < 1e-12);
        assert_eq!(chance_of_at_least(0, 3, 0.25), 1.0);
        assert_eq!(chance_of_at_most(3, 3, 1.0), 1.0);
    }

    #[test]
    fn accepts_what_chance_allows_and_refuses_the_rest() {
        // 100,000 trials at 0.1: standard deviation 95.
        assert_rate(10_000, 100_000, 0.1, "exact");
        assert_rate(10_400, 100_000, 0.1, "four deviations");
        assert!(fails(|| assert_rate(10_900, 100_000, 0.1, "nine deviations high")));
        assert!(fails(|| assert_rate(9_100, 100_000, 0.1, "nine deviations low")));
        assert_rate_at_most(0, 100_000, 0.1, "far below is fine");
        assert!(fails(|| assert_rate_at_most(10_900, 100_000, 0.1, "above")));
        assert_rate_at_least(100_000, 100_000, 0.1, "far above is fine");
        assert!(fails(|| assert_rate_at_least(9_100, 100_000, 0.1, "below")));
    }

    #[test]
    fn certain_and_impossible_events() {
        assert_rate(0, 1_000_000, 0.0, "never");
        assert_rate(1_000_000, 1_000_000, 1.0, "always");
        assert!(fails(|| assert_rate(1, 1_000_000, 0.0, "never, once")));
        assert!(fails(|| assert_rate(999_999, 1_000_000, 1.0, "always, but once")));
    }

    #[test]
    fn tails_stay_accurate_for_many_trials() {
        // Normal approximation: 6 deviations have a tail of 9.9e-10.
        let (trials, p) = (10_000_000u64, 0.01);
        let deviation = (trials as f64 * p * (1.0 - p)).sqrt();
        let tail = chance_of_at_least((trials as f64 * p + 6.0 * deviation) as u64, trials, p);
        assert!((5e-10..2e-9).contains(&tail), "{tail:e}");
    }
}
