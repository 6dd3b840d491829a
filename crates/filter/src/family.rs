//! The families of units. What reads units asks this file; `settings.rs` lists what can be built.

use crate::bloom::BloomShape;
use crate::nibbles::Nibbles;
use crate::ribbon::{LANES, RibbonProbe, RibbonShape};
use crate::{FilterError, KeyDigest};

/// A kind of filter unit. The code is part of the on-disk format and is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum Family {
    /// Bloom filter units of a few bits per key.
    Bloom = 1,
    /// Ribbon filter units of one bit per key.
    Ribbon = 2,
}

impl Family {
    /// Lower-case name for reports and configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bloom => "bloom",
            Self::Ribbon => "ribbon",
        }
    }
}

/// The parameters that a family needs to read its units back, beside their number and the number of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FamilyShape {
    Bloom(BloomShape),
    Ribbon(RibbonShape),
}

impl FamilyShape {
    pub(crate) fn family(self) -> Family {
        match self {
            Self::Bloom(_) => Family::Bloom,
            Self::Ribbon(_) => Family::Ribbon,
        }
    }

    /// Family code and two bytes of parameters.
    pub(crate) fn encode(self) -> [u8; 3] {
        match self {
            Self::Bloom(bloom) => [Family::Bloom as u8, bloom.bits_per_key(), bloom.probes()],
            Self::Ribbon(ribbon) => [Family::Ribbon as u8, ribbon.growth(), ribbon.seed()],
        }
    }

    pub(crate) fn decode([family, a, b]: [u8; 3]) -> Result<Self, FilterError> {
        match family {
            code if code == Family::Bloom as u8 => BloomShape::from_parameters(a, b).map(Self::Bloom),
            code if code == Family::Ribbon as u8 => RibbonShape::from_parameters(a, b).map(Self::Ribbon),
            got => Err(FilterError::UnknownFamily { got }),
        }
    }

    /// Family and parameters in ten bits, for [`ProbeLayout`](crate::ProbeLayout).
    pub(crate) fn to_bits(self) -> u16 {
        match self {
            Self::Bloom(BloomShape(parameters)) => u16::from(parameters.to_bits()),
            Self::Ribbon(RibbonShape(parameters)) => 1 << 8 | u16::from(parameters.to_bits()),
        }
    }

    /// The family and parameters of which these are the bits.
    #[inline]
    pub(crate) fn from_bits(bits: u16) -> Self {
        let parameters = Nibbles::from_bits(bits as u8);
        if bits >> 8 == 0 {
            Self::Bloom(BloomShape(parameters))
        } else {
            Self::Ribbon(RibbonShape(parameters))
        }
    }

    /// Words of 64 bits in each unit over `key_count` keys; 0 for no keys.
    pub(crate) fn unit_words(self, key_count: u32) -> u32 {
        match self {
            Self::Bloom(bloom) => bloom.unit_words(key_count),
            Self::Ribbon(ribbon) => ribbon.unit_words(key_count),
        }
    }

    /// Analytic rate of one unit over `key_count` > 0 keys.
    pub(crate) fn unit_fpr(self, key_count: u32) -> f64 {
        match self {
            Self::Bloom(bloom) => bloom.unit_fpr(key_count),
            Self::Ribbon(_) => 0.5,
        }
    }

    /// Units that a lookup reads together, whose words are interleaved in memory.
    #[inline]
    pub(crate) fn lanes(self) -> usize {
        match self {
            Self::Bloom(_) => 1,
            Self::Ribbon(_) => LANES,
        }
    }

    /// What `digest` asks of units of `unit_words` words.
    #[inline]
    pub(crate) fn probe(self, unit_words: u32, digest: KeyDigest) -> Probe {
        Probe(match self {
            _ if unit_words == 0 => FamilyProbe::Nothing,
            Self::Bloom(shape) => FamilyProbe::Bloom { shape, unit_words, digest },
            Self::Ribbon(shape) => FamilyProbe::Ribbon(shape.probe(unit_words, digest)),
        })
    }
}

/// What a digest asks of the units of a segment, however many of them are resident: computed before it is known where they are, so that
/// nothing is left to compute between finding them and reading what is needed of them.
#[derive(Clone, Copy, Debug)]
pub struct Probe(FamilyProbe);

#[derive(Clone, Copy, Debug)]
enum FamilyProbe {
    /// Of units over no keys, which reject every key.
    Nothing,
    Bloom {
        shape: BloomShape,
        unit_words: u32,
        digest: KeyDigest,
    },
    Ribbon(RibbonProbe),
}

impl Probe {
    /// The first of the `resident` units in `words` that says that no key with this digest is in the segment, which is certain
    /// then; `None`: it may be. No allocation.
    ///
    /// # Panics
    /// If there are fewer words than these units have.
    #[inline]
    pub fn rejecting_unit(&self, words: &[u64], resident: u8) -> Option<u8> {
        match &self.0 {
            FamilyProbe::Nothing => (resident > 0).then_some(0),
            FamilyProbe::Bloom { shape, unit_words, digest } => {
                let words = &words[..*unit_words as usize * usize::from(resident)];
                shape.rejecting_unit(words, *unit_words, *digest)
            }
            FamilyProbe::Ribbon(probe) => probe.rejecting_unit(words, resident),
        }
    }
}
