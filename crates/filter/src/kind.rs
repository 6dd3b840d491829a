//! The kinds of units, for code that reads units. `settings.rs` lists the ones that can be built.

use crate::bloom::BloomShape;
use crate::nibbles::Nibbles;
use crate::ribbon::{LANES, RibbonProbe, RibbonShape};
use crate::unsafe_prefetch::prefetch;
use crate::{FilterError, KeyDigest};

/// A kind of filter unit. The code is part of the on-disk format and is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum UnitKind {
    /// Bloom filter units of a few bits per key.
    Bloom = 1,
    /// Ribbon filter units of one bit per key.
    Ribbon = 2,
}

impl UnitKind {
    /// Lower-case name for reports and configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bloom => "bloom",
            Self::Ribbon => "ribbon",
        }
    }
}

/// The parameters of a kind, in addition to the numbers of units and of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KindShape {
    Bloom(BloomShape),
    Ribbon(RibbonShape),
}

impl KindShape {
    pub(crate) fn kind(self) -> UnitKind {
        match self {
            Self::Bloom(_) => UnitKind::Bloom,
            Self::Ribbon(_) => UnitKind::Ribbon,
        }
    }

    /// The stored form: kind code and two bytes of parameters.
    pub(crate) fn encode(self) -> [u8; 3] {
        match self {
            Self::Bloom(bloom) => [UnitKind::Bloom as u8, bloom.bits_per_key(), bloom.probes()],
            Self::Ribbon(ribbon) => [UnitKind::Ribbon as u8, ribbon.growth(), ribbon.seed()],
        }
    }

    pub(crate) fn decode([kind, a, b]: [u8; 3]) -> Result<Self, FilterError> {
        match kind {
            code if code == UnitKind::Bloom as u8 => BloomShape::from_parameters(a, b).map(Self::Bloom),
            code if code == UnitKind::Ribbon as u8 => RibbonShape::from_parameters(a, b).map(Self::Ribbon),
            got => Err(FilterError::UnknownKind { got }),
        }
    }

    /// Kind and parameters in ten bits, for [`ProbeLayout`](crate::ProbeLayout).
    pub(crate) fn to_bits(self) -> u16 {
        match self {
            Self::Bloom(BloomShape(parameters)) => u16::from(parameters.to_bits()),
            Self::Ribbon(RibbonShape(parameters)) => 1 << 8 | u16::from(parameters.to_bits()),
        }
    }

    /// The inverse of [`to_bits`](Self::to_bits). Errors on a kind that does not exist.
    #[inline]
    pub(crate) fn from_bits(bits: u16) -> Result<Self, FilterError> {
        let parameters = Nibbles::from_bits(bits as u8);
        match bits >> 8 {
            0 => Ok(Self::Bloom(BloomShape(parameters))),
            1 => Ok(Self::Ribbon(RibbonShape(parameters))),
            got => Err(FilterError::UnknownKind { got: got as u8 }),
        }
    }

    /// 64-bit words of each unit over `key_count` keys. 0 for no keys.
    pub(crate) fn unit_words(self, key_count: u32) -> u32 {
        match self {
            Self::Bloom(bloom) => bloom.unit_words(key_count),
            Self::Ribbon(ribbon) => ribbon.unit_words(key_count),
        }
    }

    /// Analytic false positive rate of one unit over `key_count` > 0 keys.
    pub(crate) fn unit_fpr(self, key_count: u32) -> f64 {
        match self {
            Self::Bloom(bloom) => bloom.unit_fpr(key_count),
            Self::Ribbon(_) => 0.5,
        }
    }

    /// Number of units whose words are interleaved in memory, because a lookup reads them together.
    #[inline]
    pub(crate) fn lanes(self) -> usize {
        match self {
            Self::Bloom(_) => 1,
            Self::Ribbon(_) => LANES,
        }
    }

    /// The probe of `digest` for units of `unit_words` words.
    #[inline]
    pub(crate) fn probe(self, unit_words: u32, digest: KeyDigest) -> Probe {
        Probe(match self {
            _ if unit_words == 0 => KindProbe::Nothing,
            Self::Bloom(shape) => KindProbe::Bloom { shape, unit_words, digest },
            Self::Ribbon(shape) => KindProbe::Ribbon(shape.probe(unit_words, digest)),
        })
    }
}

/// The probe of one digest for the units of a segment, for any number of resident units. Computing it before the units are found leaves no
/// work between finding them and reading them.
#[derive(Clone, Copy, Debug)]
pub struct Probe(KindProbe);

#[derive(Clone, Copy, Debug)]
enum KindProbe {
    /// The probe of units over no keys, which reject every key.
    Nothing,
    Bloom {
        shape: BloomShape,
        unit_words: u32,
        digest: KeyDigest,
    },
    Ribbon(RibbonProbe),
}

impl Probe {
    /// Brings the words that [`rejecting_unit`](Self::rejecting_unit) will read first into the processor's cache. The cache misses of
    /// several probes overlap if all are prefetched before the first one is asked.
    #[inline]
    pub fn prefetch(&self, words: &[u64], resident: u8) {
        // Bloom units are several arrays, which are asked one after the other until one rejects: nothing is gained.
        if let KindProbe::Ribbon(probe) = &self.0
            && resident > 0
        {
            probe.first_words(resident).into_iter().for_each(|word| prefetch(words, word));
        }
    }

    /// The first of the `resident` units in `words` that rejects the digest: the key is certainly absent. `None` if it may be present. No
    /// allocation.
    ///
    /// # Panics
    ///
    /// If `words` has fewer words than these units.
    #[inline]
    pub fn rejecting_unit(&self, words: &[u64], resident: u8) -> Option<u8> {
        match &self.0 {
            KindProbe::Nothing => (resident > 0).then_some(0),
            KindProbe::Bloom { shape, unit_words, digest } => {
                let words = &words[..*unit_words as usize * usize::from(resident)];
                shape.rejecting_unit(words, *unit_words, *digest)
            }
            KindProbe::Ribbon(probe) => probe.rejecting_unit(words, resident),
        }
    }
}
