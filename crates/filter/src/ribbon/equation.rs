//! An equation under way, and which of them are met where.

use super::rows::{RowHasher, fingerprint};
use crate::KeyDigest;

/// Slots that are eliminated together.
pub(super) const WINDOW: usize = 8;

/// Windows behind the one of an equation's slot in which it can have coefficients: a band of 128.
pub(super) const REACH: usize = 128 / WINDOW;

/// Windows in a block: the slots of one word.
pub(super) const WINDOWS_IN_BLOCK: usize = 64 / WINDOW;

/// The coefficients of 192 slots, 24 bytes, from the first slot of a block on, and the right-hand side with a bit per column. As
/// bytes, because windows are; and as long as the widest register, so that adding two is one instruction.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
pub(super) struct Equation([u8; 32]);

impl Equation {
    /// Of a digest whose row starts in the block.
    #[inline]
    pub(super) fn new(digest: KeyDigest, rows: RowHasher) -> Self {
        let row = rows.row(digest);
        let (low, high) = (row.coefficients as u64, (row.coefficients >> 64) as u64);
        let (shift, back) = (row.start % 64, 63 - row.start % 64);
        let words =
            [low << shift, high << shift | low >> 1 >> back, high >> 1 >> back, fingerprint(digest).into()];
        let mut equation = Self::default();
        let (bytes, _) = equation.0.as_chunks_mut();
        bytes.iter_mut().zip(words).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
        equation
    }

    /// Coefficients in a window of the block.
    #[inline(always)]
    pub(super) fn window(&self, window: usize) -> u8 {
        self.0[window]
    }

    /// Coefficients in the windows behind one of the block.
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

    /// The same equation, seen from the next block; it has no coefficients in this one.
    #[inline(always)]
    pub(super) fn in_next_block(&self) -> Self {
        let mut next = Self::default();
        next.0[..16].copy_from_slice(&self.0[8..24]);
        next.0[24..].copy_from_slice(&self.0[24..]);
        next
    }

    #[inline(always)]
    pub(super) fn has_coefficients(&self) -> bool {
        self.0[..24] != [0; 24]
    }
}

/// Digests in the order of the windows in which their rows start. A counting sort: 8 bytes per digest and 4 per window.
#[derive(Default)]
pub(super) struct Arrangement {
    /// Window of each digest.
    windows: Vec<u32>,
    /// Indices of digests, by window.
    order: Vec<u32>,
    /// Where each window ends in `order`.
    ends: Vec<u32>,
}

impl Arrangement {
    pub(super) fn arrange(&mut self, digests: &[KeyDigest], rows: RowHasher, unit_words: u32) {
        self.ends.clear();
        self.ends.resize(unit_words as usize * WINDOWS_IN_BLOCK, 0);
        self.windows.clear();
        self.windows.extend(digests.iter().map(|&digest| (rows.start(digest) / WINDOW as u64) as u32));
        self.windows.iter().for_each(|&window| self.ends[window as usize] += 1);
        // From counts to where each window begins; placing its digests moves that to where it ends.
        let mut sum = 0;
        self.ends.iter_mut().for_each(|end| sum += std::mem::replace(end, sum));
        self.order.resize(digests.len(), 0);
        for (&window, index) in self.windows.iter().zip(0..) {
            let place = &mut self.ends[window as usize];
            self.order[*place as usize] = index;
            *place += 1;
        }
    }

    /// For each block the ends of its windows in the order.
    pub(super) fn blocks(&self) -> &[[u32; WINDOWS_IN_BLOCK]] {
        self.ends.as_chunks().0
    }

    /// The digests from place `from` to `to` in the order, to the end of `found`. They lie anywhere; one after the other without
    /// anything between them, many are fetched at a time.
    pub(super) fn fetch(&self, digests: &[KeyDigest], from: u32, to: u32, found: &mut Vec<KeyDigest>) {
        found.extend(self.order[from as usize..to as usize].iter().map(|&index| digests[index as usize]));
    }
}
