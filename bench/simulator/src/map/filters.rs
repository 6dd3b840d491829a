//! False positive rates and sizes of filters.

/// Of a Bloom filter of RocksDB with this many bits per key, whose bits for a key are in one cache line.
pub(super) fn bloom_rate(bits: f64) -> f64 {
    const LINE_BITS: f64 = 512.0;
    if bits <= 0.0 {
        return 1.0;
    }
    // As many probes as RocksDB chooses.
    let probes = match bits {
        ..=2.08 => 1,
        ..=3.58 => 2,
        ..=5.1 => 3,
        ..=6.64 => 4,
        ..=8.3 => 5,
        ..=10.07 => 6,
        ..=11.72 => 7,
        _ => 8,
    };
    let rate = |bits: f64| (1.0 - (-f64::from(probes) / bits).exp()).powi(probes);
    // Lines have more keys or fewer.
    let keys = LINE_BITS / bits;
    let [crowded, sparse] = [keys + keys.sqrt(), (keys - keys.sqrt()).max(1.0)];
    (rate(LINE_BITS / crowded) + rate(LINE_BITS / sparse)) / 2.0
}

/// Bits of a Ribbon filter with the rate of a Bloom filter, as a share of its bits.
const RIBBON_SHARE: f64 = 0.7;

/// Of a Ribbon filter that takes this many bits per key.
pub(super) fn ribbon_rate(bits: f64) -> f64 {
    bloom_rate(bits / RIBBON_SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_rocksdb() {
        // Its own figure, in `filter_policy.h`.
        assert!((0.009..0.0105).contains(&bloom_rate(10.0)), "{}", bloom_rate(10.0));
        assert!((0.14..0.17).contains(&bloom_rate(4.0)), "{}", bloom_rate(4.0));
        assert_eq!(bloom_rate(0.0), 1.0);
        assert!(ribbon_rate(7.0) == bloom_rate(7.0 / 0.7));
    }
}
