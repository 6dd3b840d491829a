//! Wasted reads to expect of a lookup of an absent key where nothing was measured: every run of a column family
//! is asked, and no key is hot.

use super::survey::Run;

/// Units of a table.
const UNITS_MAX: f64 = 16.0;
const SEARCH_STEPS: u32 = 200;

/// With the filters that the runs have.
pub(crate) fn with_stock_filters(runs: &[Run]) -> f64 {
    // 3 to 7 bits of Ribbon are 1.05 for each halving; Bloom takes 1.44.
    let rate = |run: &Run| if run.is_ribbon { (-run.bits / 1.05).exp2() } else { 0.6185f64.powf(run.bits) };
    runs.iter().filter(|run| run.entries > 0.0).map(|run| run.lookups * rate(run)).sum()
}

/// With units of one bit per key in this many bytes: the best allocation lets the same number of reads through per bit (Monkey, SIGMOD'17).
pub(crate) fn with_units(runs: &[Run], unit_bytes: f64) -> f64 {
    let rate = |run: &Run, price: f64| (run.entries * price).clamp((-UNITS_MAX).exp2(), 1.0);
    let bits = |price: f64| runs.iter().map(|run| -run.entries * rate(run, price).log2()).sum::<f64>();
    let (mut low, mut high) = (-200.0f64, 1.0f64);
    for _ in 0..SEARCH_STEPS {
        let middle = f64::midpoint(low, high);
        if bits(middle.exp2()) > 8.0 * unit_bytes { low = middle } else { high = middle }
    }
    runs.iter().filter(|run| run.entries > 0.0).map(|run| run.lookups * rate(run, high.exp2())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_filters() {
        let run = |entries, bits, is_ribbon| Run { entries, bits, is_ribbon, lookups: 1.0 };
        let bloom = [run(1000.0, 10.0, false), run(1e6, 10.0, false)];
        assert!((with_stock_filters(&bloom) - 2.0 * 0.0082).abs() < 1e-3);
        assert_eq!(with_stock_filters(&[run(10.0, 0.0, false), run(0.0, 0.0, false)]), 1.0);
        assert!((with_stock_filters(&[run(1e6, 4.2, true)]) - 1.0 / 16.0).abs() < 1e-9);
        // Four bits for each key of one run; the small run gets more of them, the large one hardly fewer.
        assert!((with_units(&bloom[1..], 5e5) - 1.0 / 16.0).abs() < 1e-6);
        let both = with_units(&bloom, 1001.0 * 500.0);
        assert!((0.0625..0.064).contains(&both), "{both}");
        assert_eq!(with_units(&bloom, 0.0), 2.0);
        assert!((with_units(&bloom, 1e9) - 2.0 * (-16f64).exp2()).abs() < 1e-12);
        assert_eq!(with_units(&[], 1e9), 0.0);
    }
}
