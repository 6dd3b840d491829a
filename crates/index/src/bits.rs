//! Bits of a byte string, the highest of each byte first.

/// Zero bytes behind the last bit, so that a reader may look at whole words.
pub(crate) const PADDING: usize = 8;

#[derive(Default)]
pub(crate) struct BitWriter {
    bytes: Vec<u8>,
    /// Bits of the last byte that are free.
    free: u32,
}

impl BitWriter {
    /// The lowest `count` bits of `value`, at most 64.
    pub(crate) fn put(&mut self, value: u64, count: u32) {
        for at in (0..count).rev() {
            if self.free == 0 {
                self.bytes.push(0);
                self.free = 8;
            }
            self.free -= 1;
            let bit = (value >> at) as u8 & 1;
            *self.bytes.last_mut().expect("a byte was pushed") |= bit << self.free;
        }
    }

    /// Whole bytes, at the next byte.
    pub(crate) fn put_bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.free = 0;
    }

    /// The next bytes that are put begin here.
    pub(crate) fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.resize(self.bytes.len() + PADDING, 0);
        self.bytes
    }
}

/// Reads what a [`BitWriter`] wrote. Behind the end it reads zeros.
#[derive(Clone, Copy)]
pub(crate) struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// At least 57 bits from here on, in the highest bits.
    #[inline]
    pub(crate) fn word(&self) -> u64 {
        let word = self.bytes.get(self.at / 8..).and_then(|rest| rest.first_chunk());
        word.map_or(0, |word| u64::from_be_bytes(*word) << (self.at % 8))
    }

    /// At most 57 bits.
    #[inline]
    pub(crate) fn take(&mut self, count: u32) -> u64 {
        if count == 0 {
            return 0;
        }
        let bits = self.word() >> (64 - count);
        self.at += count as usize;
        bits
    }

    #[inline]
    pub(crate) fn skip(&mut self, count: usize) {
        self.at += count;
    }
}
