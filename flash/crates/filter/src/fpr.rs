//! False positive rates, analytically (BloomFlash section III-D).
//!
//! A page with `n` keys has the rate `FP(n) = (1 - (1 - 1/m)^(k n))^k`. Keys are distributed over pages at random, so `n` is binomial. The
//! rate of the filter is the mean of `FP(n)` over that distribution. It is a little above `FP` of the mean, since `FP` is convex.

use crate::geometry::{Geometry, Layout};

/// Rate of a Bloom filter of `bits` bits with `keys` keys and `probes` bits per key.
pub fn fpr_at_load(keys: f64, bits: f64, probes: u8) -> f64 {
    let k = f64::from(probes);
    // ln(1 - 1/m) loses digits for large m; ln_1p does not.
    fill(keys, bits, probes).powf(k)
}

/// Expected share of bits set by `keys` keys.
pub fn fill(keys: f64, bits: f64, probes: u8) -> f64 {
    -f64::exp_m1(keys * f64::from(probes) * f64::ln_1p(-1.0 / bits))
}

/// Number of keys that set the share `fill` of the bits: the inverse of [`fill`].
pub fn keys_for_fill(fill: f64, bits: f64, probes: u8) -> f64 {
    if fill >= 1.0 {
        return f64::INFINITY;
    }
    f64::ln_1p(-fill) / (f64::from(probes) * f64::ln_1p(-1.0 / bits))
}

/// Expected rate of a filter with `keys` distinct keys, including the uneven distribution over pages.
pub fn expected_fpr(geometry: &Geometry, keys: u64) -> f64 {
    let (keys, pages) = (keys as f64, f64::from(geometry.page_count));
    let page_bits = f64::from(geometry.bits_per_page());
    match geometry.layout {
        Layout::Hierarchical => {
            mean_over_loads(keys, 1.0 / pages, |load| fpr_at_load(load, page_bits, geometry.probes))
        }
        // With two choices, pages are even to within a few keys. A lookup probes both.
        Layout::TwoChoices => either_of(fpr_at_load(keys / pages, page_bits, geometry.probes), 2),
    }
}

/// Probability that at least one of `count` independent events of probability `p` happens.
pub(crate) fn either_of(p: f64, count: u32) -> f64 {
    1.0 - (1.0 - p).powi(count as i32)
}

/// Mean of `value(n)` over n ~ Binomial(keys, share). Sums outward from the mode until the tails are negligible.
fn mean_over_loads(keys: f64, share: f64, value: impl Fn(f64) -> f64) -> f64 {
    let mean = keys * share;
    let deviation = (mean * (1.0 - share)).sqrt();
    let lowest = (mean - 12.0 * deviation - 12.0).max(0.0).floor();
    let highest = (mean + 12.0 * deviation + 12.0).min(keys).ceil();
    // Weights overflow for large means, so they are kept as logarithms relative to the mode.
    let odds = (share / (1.0 - share)).ln();
    let step = |n: f64| ((keys - n) / (n + 1.0)).ln() + odds;
    let (mut log_weight, mut log_weights) = (0.0, Vec::new());
    let mut n = lowest;
    while n <= highest {
        log_weights.push(log_weight);
        if n < keys && share < 1.0 {
            log_weight += step(n);
        }
        n += 1.0;
    }
    if share >= 1.0 {
        return value(keys);
    }
    let top = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (mut sum, mut total) = (0.0, 0.0);
    for (i, log_weight) in log_weights.iter().enumerate() {
        let weight = (log_weight - top).exp();
        sum += weight * value(lowest + i as f64);
        total += weight;
    }
    sum / total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(layout: Layout, page_count: u32) -> Geometry {
        Geometry { layout, page_bytes: 4096, page_count, probes: 6 }
    }

    #[test]
    fn known_rates() {
        // The setting of the paper, k = 6 and 8.66 bits/key: half of the bits are set, the rate is 2^-6.
        let keys = 32_512.0 * std::f64::consts::LN_2 / 6.0;
        assert!((fpr_at_load(keys, 32_512.0, 6) - 1.0 / 64.0).abs() < 1e-4);
        assert!((keys_for_fill(fill(keys, 32_512.0, 6), 32_512.0, 6) - keys).abs() < 1e-6);
        assert_eq!(fpr_at_load(0.0, 32_512.0, 6), 0.0);
    }

    #[test]
    fn imbalance_costs_what_the_second_derivative_says() {
        // FP''(n) n^2 / FP = 24 ln(2)^2 at half fill; the relative variance of the load is 1/n.
        let (pages, per_page) = (1000u32, 3755u64);
        let keys = per_page * u64::from(pages);
        let geometry = geometry(Layout::Hierarchical, pages);
        let flat = fpr_at_load(keys as f64, geometry.bits() as f64, 6);
        let ours = expected_fpr(&geometry, keys);
        let predicted = 1.0 + 24.0 * std::f64::consts::LN_2.powi(2) / 2.0 / per_page as f64;
        assert!((ours / flat - predicted).abs() < 2e-4, "{} against {predicted}", ours / flat);
        assert!(ours / flat < 1.02);
    }

    #[test]
    fn one_page_is_a_plain_bloom_filter_and_no_keys_never_match() {
        for keys in [1, 100, 5000] {
            let one = expected_fpr(&geometry(Layout::Hierarchical, 1), keys);
            assert!((one - fpr_at_load(keys as f64, 32_512.0, 6)).abs() < 1e-12);
        }
        assert_eq!(expected_fpr(&geometry(Layout::Hierarchical, 10), 0), 0.0);
    }

    #[test]
    fn two_choices_double_the_rate() {
        let one = fpr_at_load(3_700.0, 32_512.0, 6);
        let two = expected_fpr(&geometry(Layout::TwoChoices, 100), 370_000);
        assert!((two / one - 2.0).abs() < 0.03, "{}", two / one);
    }
}
