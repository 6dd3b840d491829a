//! What can be wrong with settings, shapes and unit bytes.

use thiserror::Error;

/// An error of this crate. Callers that only look keys up treat each of them as "may match".
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FilterError {
    /// Settings ask for a number of units that no group can have.
    #[error("unit count {got} is outside 1..={max}")]
    UnitCount {
        /// Units asked for.
        got: u8,
        /// Most units of a group.
        max: u8,
    },
    /// Settings ask for Bloom units of a size that is not supported.
    #[error("{got} bits per key and unit is outside 1..={max}")]
    BitsPerKey {
        /// Bits per key asked for.
        got: u8,
        /// Most bits per key of one unit.
        max: u8,
    },
    /// A text does not name units.
    #[error("units {got:?}: expected ribbon:UNITS or bloom:UNITSxBITS, such as ribbon:16 or bloom:6x4")]
    UnitSettings {
        /// The text given.
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
    /// The shape was written for a family of units that this version does not know.
    #[error("unknown unit family {got}; a newer version may have written it")]
    UnknownFamily {
        /// Family code found.
        got: u8,
    },
    /// A parameter of an encoded shape has a value that no builder writes.
    #[error("shape parameter `{name}` cannot be {got}")]
    ShapeParameter {
        /// Which parameter.
        name: &'static str,
        /// Value found.
        got: u64,
    },
    /// A unit is not as long as its shape says.
    #[error("unit {unit} is {got} bytes long, its shape says {expected}")]
    UnitBytes {
        /// Index of the unit within its group.
        unit: usize,
        /// Bytes given.
        got: usize,
        /// Bytes expected.
        expected: usize,
    },
    /// More units were given than the group was built with.
    #[error("{got} units given, the group was built with {built}")]
    TooManyUnits {
        /// Units given.
        got: usize,
        /// Units built.
        built: u8,
    },
}
