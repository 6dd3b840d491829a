//! Settings of the units to build, and the build itself.

use std::fmt;
use std::str::FromStr;

use crate::bloom::BloomShape;
use crate::kind::KindShape;
use crate::ribbon::{ALL_TRIES, RibbonBuilder};
use crate::{FilterError, GroupShape, KEYS_MAX, KeyDigest, MAX_UNITS, UnitKind};

/// Maximum bits per key of one Bloom unit. Larger units would be too large a step.
const MAX_BLOOM_BITS_PER_KEY: u8 = 8;

/// The units to build over a segment's keys. Default: 16 ribbon units of one bit per key. The paper uses 6 Bloom units of 4 bits per key
/// (ElasticBF, ATC'19 section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitSettings {
    kind: UnitKind,
    bits_per_key: u8,
    unit_count: u8,
}

/// All units of one segment, as they are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltGroup {
    /// Shape, which is needed to read the units.
    pub shape: GroupShape,
    /// `shape.unit_count()` units of `shape.unit_bytes()` bytes each.
    pub units: Vec<Vec<u8>>,
}

impl UnitSettings {
    /// `unit_count` (1..=32) Bloom units of `bits_per_key` (1..=8) bits per key each.
    pub fn bloom(unit_count: u8, bits_per_key: u8) -> Result<Self, FilterError> {
        if bits_per_key == 0 || bits_per_key > MAX_BLOOM_BITS_PER_KEY {
            return Err(FilterError::BitsPerKey { got: bits_per_key, max: MAX_BLOOM_BITS_PER_KEY });
        }
        Self::new(UnitKind::Bloom, bits_per_key, unit_count)
    }

    /// `unit_count` (1..=32) ribbon units of one bit per key each.
    pub fn ribbon(unit_count: u8) -> Result<Self, FilterError> {
        Self::new(UnitKind::Ribbon, 1, unit_count)
    }

    fn new(kind: UnitKind, bits_per_key: u8, unit_count: u8) -> Result<Self, FilterError> {
        if unit_count == 0 || unit_count > MAX_UNITS {
            return Err(FilterError::UnitCount { got: unit_count, max: MAX_UNITS });
        }
        Ok(Self { kind, bits_per_key, unit_count })
    }

    /// Number of units of every group.
    pub fn unit_count(&self) -> u8 {
        self.unit_count
    }

    /// Kind of the units.
    pub fn kind(&self) -> UnitKind {
        self.kind
    }

    /// Nominal bits per key of one unit.
    pub fn bits_per_key(&self) -> u8 {
        self.bits_per_key
    }

    /// Builds the units of one segment, with a [`GroupBuilder`] for this call.
    pub fn build(&self, digests: &[KeyDigest]) -> BuiltGroup {
        GroupBuilder::new(*self).build(digests)
    }
}

/// Builds the units of several segments and reuses its memory.
#[derive(Debug)]
pub struct GroupBuilder {
    settings: UnitSettings,
    ribbon: RibbonBuilder,
}

impl GroupBuilder {
    /// Allocates nothing before the first build.
    pub fn new(settings: UnitSettings) -> Self {
        Self { settings, ribbon: RibbonBuilder::default() }
    }

    /// Bytes that it keeps from build to build.
    pub fn memory_bytes(&self) -> usize {
        self.ribbon.memory_bytes()
    }

    /// Builds the units of one segment. Never fails. Digests may come in any order and may repeat (a repeated digest takes the space of
    /// another key). Without digests the units are empty and reject every key. The shape counts at most [`KEYS_MAX`] digests.
    ///
    /// A ribbon system without a solution, which takes contrived digests, becomes Bloom units of the same nominal size.
    pub fn build(&mut self, digests: &[KeyDigest]) -> BuiltGroup {
        match self.settings.kind {
            UnitKind::Bloom => self.build_bloom(self.settings.bits_per_key, digests),
            UnitKind::Ribbon => self.build_ribbon(digests, ALL_TRIES),
        }
    }

    fn build_bloom(&self, bits_per_key: u8, digests: &[KeyDigest]) -> BuiltGroup {
        let key_count = u32::try_from(digests.len()).unwrap_or(KEYS_MAX).min(KEYS_MAX);
        let bloom = BloomShape::for_bits(bits_per_key);
        let unit_count = self.settings.unit_count;
        let shape = GroupShape::new(KindShape::Bloom(bloom), key_count, unit_count);
        let units = (0..unit_count).map(|unit| bloom.build(unit, shape.unit_words(), digests)).collect();
        BuiltGroup { shape, units }
    }

    fn build_ribbon(&mut self, digests: &[KeyDigest], tries: usize) -> BuiltGroup {
        let unit_count = self.settings.unit_count;
        let Some((ribbon, units)) = self.ribbon.build(digests, unit_count, tries) else {
            return self.build_bloom(1, digests);
        };
        let shape = GroupShape::new(KindShape::Ribbon(ribbon), digests.len() as u32, unit_count);
        BuiltGroup { shape, units }
    }
}

impl Default for UnitSettings {
    fn default() -> Self {
        Self { kind: UnitKind::Ribbon, bits_per_key: 1, unit_count: 16 }
    }
}

impl fmt::Display for UnitSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            UnitKind::Bloom => write!(f, "bloom:{}x{}", self.unit_count, self.bits_per_key),
            UnitKind::Ribbon => write!(f, "ribbon:{}", self.unit_count),
        }
    }
}

impl FromStr for UnitSettings {
    type Err = FilterError;

    /// Parses `ribbon:UNITS` or `bloom:UNITSxBITS`, as written by [`Display`](fmt::Display).
    fn from_str(text: &str) -> Result<Self, FilterError> {
        let unknown = || FilterError::UnitSettings { got: text.to_owned() };
        let number = |digits: &str| digits.parse::<u8>().map_err(|_| unknown());
        match text.split_once(':') {
            Some(("ribbon", units)) => Self::ribbon(number(units)?),
            Some(("bloom", size)) => {
                let (units, bits) = size.split_once('x').ok_or_else(unknown)?;
                Self::bloom(number(units)?, number(bits)?)
            }
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FilterGroup;

    #[test]
    fn settings_read_what_they_write() {
        for settings in [UnitSettings::default(), UnitSettings::bloom(6, 4).unwrap()] {
            assert_eq!(settings.to_string().parse(), Ok(settings));
        }
        assert_eq!(
            "ribbon:33".parse::<UnitSettings>(),
            Err(FilterError::UnitCount { got: 33, max: MAX_UNITS })
        );
        for wrong in ["", "ribbon", "ribbon:", "ribbon:300", "bloom:6", "bloom:6x", "cuckoo:4"] {
            let error = FilterError::UnitSettings { got: wrong.to_owned() };
            assert_eq!(wrong.parse::<UnitSettings>(), Err(error));
        }
    }

    #[test]
    fn a_ribbon_that_cannot_be_solved_becomes_bloom_units() {
        let digests: Vec<_> = (0..1000).map(|i| KeyDigest { lo: i, hi: !i }).collect();
        let built = GroupBuilder::new(UnitSettings::ribbon(7).unwrap()).build_ribbon(&digests, 0);
        assert_eq!((built.shape.kind(), built.shape.unit_count()), (UnitKind::Bloom, 7));
        let units: Vec<&[u8]> = built.units.iter().map(Vec::as_slice).collect();
        let group = FilterGroup::from_units(built.shape, &units).unwrap();
        assert!(digests.iter().all(|&digest| group.may_match(digest)));
    }
}
