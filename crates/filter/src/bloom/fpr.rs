//! The exact false positive rate of a Bloom filter of any size.

/// Probability that all `probes` probes of an absent key hit set bits, over the choice of the hash functions, in a filter of
/// `bits` bits with `keys` keys of `probes` probes each.
///
/// The textbook `(1 - e^(-kn/m))^k` is off by several percent for a handful of keys; this is exact (Christensen,
/// Roginsky and Jimeno, "A new analysis of the false positive rate of a Bloom filter", 2010, rearranged): by inclusion and
/// exclusion over the probes that hit unset bits, `sum_j (-1)^j C(k,j) sum_i S(j,i) (m)_i / m^j (1 - i/m)^(kn)`, where `S` are
/// Stirling numbers of the second kind and `(m)_i` is a falling factorial: `j` probes fall on `i` distinct bits, all unset.
pub(super) fn bloom_fpr(bits: u64, keys: u64, probes: u8) -> f64 {
    let (m, throws) = (bits as f64, keys as f64 * f64::from(probes));
    let mut stirling = vec![1.0];
    let mut total = 0.0;
    let mut signed_choose = 1.0;
    for j in 0..=usize::from(probes) {
        let mut falling = 1.0;
        let mut all_unset = 0.0;
        for (i, ways) in stirling.iter().enumerate() {
            // ln_1p keeps (1 - i/m)^throws exact for large m; i = m gives 0.
            let unset = if i == 0 { 1.0 } else { ((-(i as f64) / m).ln_1p() * throws).exp() };
            all_unset += ways * falling * m.powi(i as i32 - j as i32) * unset;
            falling *= 1.0 - i as f64 / m;
        }
        total += signed_choose * all_unset;
        signed_choose *= -((usize::from(probes) - j) as f64) / (j + 1) as f64;
        let next = (0..=j + 1).map(|i| {
            let stays = stirling.get(i).map_or(0.0, |ways| i as f64 * ways);
            let opens = if i == 0 { 0.0 } else { stirling[i - 1] };
            stays + opens
        });
        stirling = next.collect();
    }
    total.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, expected: f64, relative: f64) {
        assert!((got - expected).abs() <= expected * relative, "{got:e}, expected {expected:e}");
    }

    #[test]
    fn one_probe_is_the_share_of_set_bits() {
        close(bloom_fpr(64, 16, 1), 1.0 - (63.0f64 / 64.0).powi(16), 1e-12);
    }

    #[test]
    fn two_probes_by_hand() {
        // Both probes on one bit: 1/m of the cases; two bits, both set: 1 - 2 P(one unset) + P(both unset).
        let (m, throws) = (64.0f64, 20);
        let (one, both) = ((1.0 - 1.0 / m).powi(throws), (1.0 - 2.0 / m).powi(throws));
        close(bloom_fpr(64, 10, 2), (1.0 - one) / m + (1.0 - 1.0 / m) * (1.0 - 2.0 * one + both), 1e-12);
    }

    #[test]
    fn large_filters_reach_the_textbook_formula() {
        for (bits, probes) in [(4, 3), (8, 5), (1, 1)] {
            let textbook = (1.0 - (-f64::from(probes) / bits as f64).exp()).powi(probes.into());
            close(bloom_fpr(bits * 10_000_000, 10_000_000, probes), textbook, 1e-5);
        }
    }

    #[test]
    fn few_keys_in_many_bits_do_not_cancel_to_noise() {
        let rate = bloom_fpr(64, 1, 5);
        assert!(rate > (4.0f64 / 64.0).powi(5) && rate < (5.0f64 / 64.0).powi(5), "{rate:e}");
        assert!(bloom_fpr(1 << 40, 1, 8) < 1e-12);
    }
}
