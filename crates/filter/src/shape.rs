//! The shape of a segment's units: all that is needed to read them, in six bytes (eight when stored).

use crate::kind::KindShape;
use crate::{FilterError, KEYS_MAX, MAX_UNITS, UnitKind};

/// Bytes of an encoded [`GroupShape`].
pub const SHAPE_BYTES: usize = 8;

/// Kind, parameters, number of keys and number of units of a group. Sizes and rates are derived from these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupShape {
    /// Little-endian bytes, so that a shape has no padding. The index on flash keeps one for each partition.
    key_count: [u8; 3],
    kind: KindShape,
    unit_count: u8,
}

const _: () = assert!(size_of::<GroupShape>() == 6);

impl GroupShape {
    pub(crate) fn new(kind: KindShape, key_count: u32, unit_count: u8) -> Self {
        let [k0, k1, k2, _] = key_count.min(KEYS_MAX).to_le_bytes();
        Self { key_count: [k0, k1, k2], kind, unit_count }
    }

    /// Kind of the units.
    pub fn kind(&self) -> UnitKind {
        self.kind.kind()
    }

    /// Number of keys of the group.
    pub fn key_count(&self) -> u32 {
        let [k0, k1, k2] = self.key_count;
        u32::from_le_bytes([k0, k1, k2, 0])
    }

    /// Number of units that were built and stored, at least 1.
    pub fn unit_count(&self) -> u8 {
        self.unit_count
    }

    /// Bytes of each unit, a multiple of 8. 0 if there are no keys.
    pub fn unit_bytes(&self) -> usize {
        self.unit_words() as usize * 8
    }

    /// Probability that an absent key passes the first `resident_units` units: 1.0 for none, otherwise the product of the units' rates.
    /// Numbers above [`unit_count`](Self::unit_count) count as all units.
    pub fn false_positive_rate(&self, resident_units: u8) -> f64 {
        match resident_units.min(self.unit_count) {
            0 => 1.0,
            _ if self.key_count() == 0 => 0.0,
            resident => self.kind.unit_fpr(self.key_count()).powi(i32::from(resident)),
        }
    }

    /// The stored form; `docs/format.md` has the table.
    pub fn encode(&self) -> [u8; SHAPE_BYTES] {
        let [kind, a, b] = self.kind.encode();
        let [k0, k1, k2, k3] = self.key_count().to_le_bytes();
        [kind, self.unit_count, a, b, k0, k1, k2, k3]
    }

    /// Decodes the stored form. Total: returns a usable shape or an error for any bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, FilterError> {
        let &[kind, unit_count, a, b, k0, k1, k2, k3] = bytes else {
            return Err(FilterError::ShapeBytes { got: bytes.len(), expected: SHAPE_BYTES });
        };
        let kind = KindShape::decode([kind, a, b])?;
        if unit_count == 0 || unit_count > MAX_UNITS {
            return Err(FilterError::UnitCount { got: unit_count, max: MAX_UNITS });
        }
        let key_count = u32::from_le_bytes([k0, k1, k2, k3]);
        if key_count > KEYS_MAX {
            return Err(FilterError::ShapeParameter { name: "key_count", got: key_count.into() });
        }
        Ok(Self::new(kind, key_count, unit_count))
    }

    pub(crate) fn kind_shape(&self) -> KindShape {
        self.kind
    }

    pub(crate) fn unit_words(&self) -> u32 {
        self.kind.unit_words(self.key_count())
    }
}
