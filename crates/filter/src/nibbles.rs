//! Two small numbers in one byte.

/// Two numbers below 16 in one byte, because every segment in memory has a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nibbles(u8);

impl Nibbles {
    /// Both below 16.
    pub(crate) fn new(low: u8, high: u8) -> Self {
        debug_assert!(low < 16 && high < 16);
        Self(low | high << 4)
    }

    pub(crate) fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    pub(crate) fn to_bits(self) -> u8 {
        self.0
    }

    pub(crate) fn low(self) -> u8 {
        self.0 & 15
    }

    pub(crate) fn high(self) -> u8 {
        self.0 >> 4
    }
}
