//! The families of units. This is the only file that lists them: group, shape and settings ask it.

use crate::bloom::BloomShape;
use crate::group::LANES;
use crate::ribbon::RibbonShape;
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

    /// The first of the `resident` units in `words` that `digest` does not match; `unit_words` is not 0.
    #[inline]
    pub(crate) fn rejecting_unit(
        self,
        words: &[u64],
        unit_words: u32,
        resident: u8,
        digest: KeyDigest,
    ) -> Option<u8> {
        match self {
            Self::Bloom(bloom) => bloom.rejecting_unit(words, unit_words, digest),
            Self::Ribbon(ribbon) => ribbon.rejecting_unit(words, unit_words, resident, digest),
        }
    }
}
