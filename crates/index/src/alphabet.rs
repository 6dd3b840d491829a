//! The bytes that occur in separators, numbered in their order.

pub(crate) struct Alphabet {
    codes: [u8; 256],
    symbols: Vec<u8>,
}

impl Alphabet {
    pub(crate) fn of(bytes: impl Iterator<Item = u8>) -> Self {
        let mut occurs = [false; 256];
        bytes.for_each(|byte| occurs[usize::from(byte)] = true);
        let symbols: Vec<u8> = (0..=255).filter(|&byte| occurs[usize::from(byte)]).collect();
        let mut codes = [0; 256];
        for (code, &byte) in symbols.iter().enumerate() {
            codes[usize::from(byte)] = code as u8;
        }
        Self { codes, symbols }
    }

    pub(crate) fn code(&self, byte: u8) -> u8 {
        self.codes[usize::from(byte)]
    }

    /// In the order of their codes.
    pub(crate) fn symbols(&self) -> &[u8] {
        &self.symbols
    }

    /// Bits of a code, 1 to 8.
    pub(crate) fn width(&self) -> u32 {
        self.symbols.len().saturating_sub(1).checked_ilog2().map_or(1, |log| log + 1)
    }
}
