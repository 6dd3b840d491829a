//! Equations under way, and their order.

use super::rows::{RowHasher, fingerprint};
use crate::KeyDigest;

/// Slots that are eliminated together.
pub(super) const WINDOW: usize = 8;

/// Windows after the one of an equation's slot that may have coefficients: a band of 128.
pub(super) const REACH: usize = 128 / WINDOW;

/// Windows in a block, which has the slots of one word.
pub(super) const WINDOWS_IN_BLOCK: usize = 64 / WINDOW;

/// The coefficients of 192 slots, from the first slot of a block on, and the right-hand side with one bit per column. Bytes match windows.
/// The size is that of the widest register, so adding two equations takes one instruction.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
pub(super) struct Equation([u8; 32]);

impl Equation {
    /// The equation of a digest whose row starts at slot `start` of the block.
    #[inline(always)]
    pub(super) fn new(digest: KeyDigest, start: u32, rows: RowHasher) -> Self {
        let coefficients = rows.coefficients(digest);
        let (low, high) = (coefficients as u64, (coefficients >> 64) as u64);
        let (shift, back) = (start % 64, 63 - start % 64);
        Self::from_words([
            low << shift,
            high << shift | low >> 1 >> back,
            high >> 1 >> back,
            fingerprint(digest).into(),
        ])
    }

    /// Coefficients in a window of the block.
    #[inline(always)]
    pub(super) fn window(&self, window: usize) -> u8 {
        self.0[window]
    }

    /// Coefficients in the windows after one of the block.
    #[inline(always)]
    pub(super) fn behind(&self, window: usize) -> [u8; REACH] {
        let mut coefficients = [0; REACH];
        coefficients.copy_from_slice(&self.0[window + 1..][..REACH]);
        coefficients
    }

    /// Right-hand side, a bit per column.
    #[inline(always)]
    pub(super) fn result(&self) -> u32 {
        let [.., r0, r1, r2, r3, _, _, _, _] = self.0;
        u32::from_le_bytes([r0, r1, r2, r3])
    }

    #[inline(always)]
    pub(super) fn plus(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] ^ other.0[i]))
    }

    /// The same equation, relative to the next block. It must have no coefficients in this one.
    #[inline(always)]
    pub(super) fn in_next_block(&self) -> Self {
        let [_, second, third, result] = self.words();
        Self::from_words([second, third, 0, result])
    }

    /// Whether it has coefficients, [relative to the next block](Self::in_next_block), where its last third is empty.
    #[inline(always)]
    pub(super) fn has_coefficients(&self) -> bool {
        let [first, second, ..] = self.words();
        first | second != 0
    }

    #[inline(always)]
    fn words(&self) -> [u64; 4] {
        let (bytes, _) = self.0.as_chunks();
        [bytes[0], bytes[1], bytes[2], bytes[3]].map(u64::from_le_bytes)
    }

    #[inline(always)]
    fn from_words(words: [u64; 4]) -> Self {
        let mut equation = Self::default();
        let (bytes, _) = equation.0.as_chunks_mut();
        bytes.iter_mut().zip(words).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
        equation
    }
}

/// Equations ordered by the window in which they start. Counting sort, with 36 bytes per digest and 4 per window.
#[derive(Debug, Default)]
pub(super) struct Arrangement {
    /// Start of each digest's row.
    starts: Vec<u32>,
    /// By window.
    equations: Vec<Equation>,
    /// End of each window in `equations`.
    ends: Vec<u32>,
}

/// Bytes that a buffer takes.
pub(super) fn bytes_of<T>(buffer: &Vec<T>) -> usize {
    buffer.capacity() * size_of::<T>()
}

impl Arrangement {
    /// Bytes of the buffers.
    pub(super) fn memory_bytes(&self) -> usize {
        bytes_of(&self.starts) + bytes_of(&self.equations) + bytes_of(&self.ends)
    }

    /// Sorts the equations. Adds `padding` equations of any content at the end.
    #[inline(always)]
    pub(super) fn arrange(
        &mut self,
        digests: &[KeyDigest],
        rows: RowHasher,
        unit_words: u32,
        padding: usize,
    ) {
        let Self { starts, equations, ends } = self;
        starts.clear();
        starts.extend(digests.iter().map(|&digest| rows.start(digest) as u32));
        equations.resize(digests.len() + padding, Equation::default());
        ends.clear();
        ends.resize(unit_words as usize * WINDOWS_IN_BLOCK, 0);
        let (equations, ends) = (&mut equations[..], &mut ends[..]);
        starts.iter().for_each(|&start| ends[window_of(start)] += 1);
        // From counts to the begin of each window. Placing the equations moves it to the end.
        let mut sum = 0;
        ends.iter_mut().for_each(|end| sum += std::mem::replace(end, sum));
        for (&digest, &start) in digests.iter().zip(&*starts) {
            let place = &mut ends[window_of(start)];
            equations[*place as usize] = Equation::new(digest, start, rows);
            *place += 1;
        }
    }

    /// The equations, and the ends of the windows of each block.
    pub(super) fn blocks(&mut self) -> (&mut [Equation], &[[u32; WINDOWS_IN_BLOCK]]) {
        (&mut self.equations, self.ends.as_chunks().0)
    }
}

#[inline(always)]
fn window_of(start: u32) -> usize {
    start as usize / WINDOW
}
