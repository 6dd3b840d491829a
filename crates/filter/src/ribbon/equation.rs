//! An equation under way, and which of them are met where.

use super::rows::{RowHasher, fingerprint};
use crate::KeyDigest;

/// Slots that are eliminated together.
pub(super) const WINDOW: usize = 8;

/// Windows in a block: the slots of one word.
pub(super) const WINDOWS_IN_BLOCK: usize = 64 / WINDOW;

/// The coefficients of 192 slots, from the first one of a block on, and the right-hand side with a bit per column: as long as
/// the widest register, so that adding two is one instruction.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
pub(super) struct Equation(pub(super) [u64; 4]);

impl Equation {
    /// Of a digest whose row starts in the block.
    #[inline]
    pub(super) fn new(digest: KeyDigest, rows: RowHasher) -> Self {
        let row = rows.row(digest);
        let (low, high) = (row.coefficients as u64, (row.coefficients >> 64) as u64);
        let (shift, back) = (row.start % 64, 63 - row.start % 64);
        Self([low << shift, high << shift | low >> 1 >> back, high >> 1 >> back, fingerprint(digest).into()])
    }

    /// Coefficients in a window of the block.
    #[inline(always)]
    pub(super) fn window(&self, window: usize) -> u8 {
        (self.0[0] >> (window * WINDOW)) as u8
    }

    #[inline(always)]
    pub(super) fn plus(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] ^ other.0[i]))
    }
}

/// Digests in the order of the windows in which their rows start. A counting sort: 4 bytes per digest and per window.
#[derive(Default)]
pub(super) struct Arrangement {
    /// Indices of digests, by window.
    order: Vec<u32>,
    /// Where each window ends in `order`.
    ends: Vec<u32>,
}

impl Arrangement {
    pub(super) fn arrange(&mut self, digests: &[KeyDigest], rows: RowHasher, unit_words: u32) {
        self.ends.clear();
        self.ends.resize(unit_words as usize * WINDOWS_IN_BLOCK, 0);
        let window = |digest| (rows.start(digest) / WINDOW as u64) as usize;
        digests.iter().for_each(|&digest| self.ends[window(digest)] += 1);
        // From counts to where each window begins; placing its digests moves that to where it ends.
        let mut sum = 0;
        self.ends.iter_mut().for_each(|end| sum += std::mem::replace(end, sum));
        self.order.resize(digests.len(), 0);
        for (&digest, index) in digests.iter().zip(0..) {
            let place = &mut self.ends[window(digest)];
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
