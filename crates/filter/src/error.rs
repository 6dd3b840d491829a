//! Errors of settings, shapes and unit bytes.

use thiserror::Error;

/// An error of this crate. Lookups treat each of them as "may match".
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FilterError {
    /// The number of units is out of range.
    #[error("unit count {got} is outside 1..={max}")]
    UnitCount {
        /// Requested number of units.
        got: u8,
        /// Maximum number of units in a group.
        max: u8,
    },
    /// The size of a Bloom unit is not supported.
    #[error("{got} bits per key and unit is outside 1..={max}")]
    BitsPerKey {
        /// Requested bits per key.
        got: u8,
        /// Maximum bits per key of a unit.
        max: u8,
    },
    /// A text does not describe units.
    #[error("units {got:?}: expected ribbon:UNITS or bloom:UNITSxBITS, such as ribbon:16 or bloom:6x4")]
    UnitSettings {
        /// The text.
        got: String,
    },
    /// An encoded shape has the wrong length.
    #[error("an encoded group shape is {expected} bytes long, got {got}")]
    ShapeBytes {
        /// Bytes given.
        got: usize,
        /// Bytes expected.
        expected: usize,
    },
    /// A unit kind that this version does not know.
    #[error("unknown unit kind {got}; a newer version may have written it")]
    UnknownKind {
        /// Code found.
        got: u8,
    },
    /// An encoded shape has an impossible parameter.
    #[error("shape parameter `{name}` cannot be {got}")]
    ShapeParameter {
        /// Name of the parameter.
        name: &'static str,
        /// Value found.
        got: u64,
    },
    /// A unit has a length that does not fit its shape.
    #[error("unit {unit} is {got} bytes long, its shape says {expected}")]
    UnitBytes {
        /// Index of the unit within its group.
        unit: usize,
        /// Bytes given.
        got: usize,
        /// Bytes expected.
        expected: usize,
    },
    /// More units than the group was built with.
    #[error("{got} units given, the group was built with {built}")]
    TooManyUnits {
        /// Units given.
        got: usize,
        /// Units built.
        built: u8,
    },
}
