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
