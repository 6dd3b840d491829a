//! Stock filters whose bits per key are chosen: how RocksDB wants them named, and what their bits buy.

/// Bytes per key of a stock Ribbon filter, as a share of the Bloom filter with its false positive rate, by which RocksDB
/// wants it named. Measured; the reports of a comparison show how many bytes were resident.
const RIBBON_SHARE_OF_BLOOM: f64 = 0.7;
/// Bits of a stock Ribbon filter for each halving of its false positive rate. By RocksDB's formulas for 3 to 7 bits per key.
const RIBBON_BITS_PER_HALVING: f64 = 1.05;

/// A filter of RocksDB that is kept whole in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StockFilter {
    /// `NewBloomFilterPolicy`.
    Bloom,
    /// `NewRibbonFilterPolicy`.
    Ribbon,
}

impl StockFilter {
    /// The bits per key by which RocksDB makes a filter of `bits` per key: those of the Bloom filter with its false
    /// positive rate.
    pub(crate) fn bloom_bits(self, bits: f64) -> f64 {
        match self {
            StockFilter::Bloom => bits,
            StockFilter::Ribbon => bits / RIBBON_SHARE_OF_BLOOM,
        }
    }

    /// The false positive rate is `exp(-bits * exponent)`.
    pub(crate) fn rate_exponent(self) -> f64 {
        match self {
            StockFilter::Bloom => springbloom_published_policies::BLOOM_RATE_EXPONENT,
            StockFilter::Ribbon => std::f64::consts::LN_2 / RIBBON_BITS_PER_HALVING,
        }
    }
}
