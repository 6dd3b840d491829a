//! The families of units. This is the only file that lists them: group, shape and settings ask it.

use crate::FilterError;
use crate::bloom::BloomShape;

/// A kind of filter unit. The code is part of the on-disk format and is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum Family {
    /// Bloom filter units of a few bits per key.
    Bloom = 1,
}

impl Family {
    /// Lower-case name for reports and configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bloom => "bloom",
        }
    }
}

/// The parameters that a family needs to read its units back, beside their number and the number of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FamilyShape {
    Bloom(BloomShape),
}

impl FamilyShape {
    pub(crate) fn family(self) -> Family {
        match self {
            Self::Bloom(_) => Family::Bloom,
        }
    }

    /// Family code and two bytes of parameters.
    pub(crate) fn encode(self) -> [u8; 3] {
        match self {
            Self::Bloom(bloom) => [Family::Bloom as u8, bloom.bits_per_key, bloom.probes],
        }
    }

    pub(crate) fn decode([family, a, b]: [u8; 3]) -> Result<Self, FilterError> {
        match family {
            code if code == Family::Bloom as u8 => BloomShape::from_parameters(a, b).map(Self::Bloom),
            got => Err(FilterError::UnknownFamily { got }),
        }
    }

    /// Words of 64 bits in each unit over `key_count` keys; 0 for no keys.
    pub(crate) fn unit_words(self, key_count: u32) -> u32 {
        match self {
            Self::Bloom(bloom) => bloom.unit_words(key_count),
        }
    }

    /// Analytic rate of one unit over `key_count` > 0 keys.
    pub(crate) fn unit_fpr(self, key_count: u32) -> f64 {
        match self {
            Self::Bloom(bloom) => bloom.unit_fpr(key_count),
        }
    }
}
