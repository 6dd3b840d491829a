//! Chooses a pivot for each column of a window.
//!
//! Gauss-Jordan elimination of nothing but the window's coefficients, of a few candidates among the equations and transposed: a
//! lane of 16 bits per column has a bit per candidate. It is done in place: once a column has its pivot, its lane says to which
//! candidates the pivot was added.

use super::equation::{Equation, WINDOW};

/// With 16 candidates a column seldom lacks a pivot that another equation has.
const CANDIDATES: usize = 16;

/// A bit for each of them.
const ALL: u64 = (1 << CANDIDATES) - 1;

/// Lowest bit of each lane in a word of four.
const LANES: u64 = 0x0001_0001_0001_0001;

/// In place of a pivot: no equation has the column, its slot is free.
pub(super) const NONE: u8 = u8::MAX;

/// The pivots of a window, by column.
pub(super) struct Pivots {
    /// Index of the equation, or [`NONE`].
    pub(super) at: [u8; WINDOW],
    /// The indices in `at`, as bits.
    pub(super) taken: u64,
    /// The pivots that add up to an equation with no other pivot's column: four columns as bits, and the other four.
    pub(super) sums: [[u8; 2]; WINDOW],
}

impl Pivots {
    /// Of the equations under way, of which none has a coefficient before the window. Pivots are among the first 16 afterwards;
    /// all others together have nothing in the window that the pivots do not cancel.
    #[inline(always)]
    pub(super) fn choose(equations: &mut [Equation], window: usize) -> Self {
        let mut choice = Choice::new(equations, window);
        choice.column::<0>(equations);
        choice.column::<1>(equations);
        choice.column::<2>(equations);
        choice.column::<3>(equations);
        choice.column::<4>(equations);
        choice.column::<5>(equations);
        choice.column::<6>(equations);
        choice.column::<7>(equations);
        let mut sums = [[0; 2]; WINDOW];
        for (sum, at) in sums.iter_mut().zip(choice.at).filter(|&(_, at)| at != NONE) {
            *sum = [bits(choice.lanes[0] >> at), bits(choice.lanes[1] >> at)];
        }
        Self { at: choice.at, taken: !choice.left & ALL, sums }
    }
}

struct Choice {
    window: usize,
    /// Columns 0 to 3, and 4 to 7.
    lanes: [u64; 2],
    /// Candidates that are no pivots, as bits.
    left: u64,
    at: [u8; WINDOW],
}

impl Choice {
    #[inline(always)]
    fn new(equations: &[Equation], window: usize) -> Self {
        let mut bytes = [0; 2];
        if let Some(candidates) = equations.first_chunk::<CANDIDATES>() {
            for i in 0..8 {
                bytes[0] |= u64::from(candidates[i].window(window)) << (8 * i);
                bytes[1] |= u64::from(candidates[8 + i].window(window)) << (8 * i);
            }
        } else {
            for (i, candidate) in equations.iter().enumerate() {
                bytes[i / 8] |= u64::from(candidate.window(window)) << (8 * (i % 8));
            }
        }
        let (low, high) = (transpose(bytes[0]), transpose(bytes[1]));
        let lanes = |place| spread_bytes((low >> place) as u32) | spread_bytes((high >> place) as u32) << 8;
        Self { window, lanes: [lanes(0), lanes(32)], left: ALL, at: [NONE; WINDOW] }
    }

    /// Finds the pivot of column `C` and adds it to all candidates that have the column.
    #[inline(always)]
    fn column<const C: usize>(&mut self, equations: &mut [Equation]) {
        let place = 16 * (C % 4);
        let mut having = self.lanes[C / 4] >> place & ALL;
        if having & self.left == 0 {
            if !self.find_another(C, equations) {
                return;
            }
            having = self.lanes[C / 4] >> place & ALL;
        }
        let pivot = (having & self.left).trailing_zeros();
        self.at[C] = pivot as u8;
        self.left ^= 1 << pivot;
        let added_to = (having ^ 1 << pivot) * LANES;
        for (half, lanes) in self.lanes.iter_mut().enumerate() {
            let others = if half == C / 4 { LANES & !(1 << place) } else { LANES };
            let columns = *lanes >> pivot & others;
            *lanes ^= ((columns << 16).wrapping_sub(columns)) & added_to;
        }
    }

    /// Looks behind the candidates for an equation that has the column once the pivots so far are subtracted; it changes places
    /// with a candidate that is no pivot.
    #[cold]
    #[inline(never)]
    fn find_another(&mut self, column: usize, equations: &mut [Equation]) -> bool {
        if equations.len() <= CANDIDATES {
            return false;
        }
        // What is left of the column after the subtraction is the sum of some columns before it.
        let (mut with_pivot, mut summed) = (0, 1 << column);
        for (c, at) in self.at.into_iter().enumerate().filter(|&(_, at)| at != NONE) {
            with_pivot |= 1u8 << c;
            summed |= (self.candidate(at) >> column & 1) << c;
        }
        let has = |equation: &Equation| (equation.window(self.window) & summed).count_ones() % 2 == 1;
        let Some(found) = equations[CANDIDATES..].iter().position(has) else { return false };
        let found = CANDIDATES + found;
        let coefficients = equations[found].window(self.window);
        let pivots = (0..WINDOW).filter(|c| (coefficients & with_pivot) >> c & 1 == 1).map(|c| self.at[c]);
        let reduced = pivots.fold(coefficients & !with_pivot, |sum, pivot| sum ^ self.candidate(pivot));
        let place = self.left.trailing_zeros();
        equations.swap(place as usize, found);
        for (half, lanes) in self.lanes.iter_mut().enumerate() {
            *lanes = *lanes & !(LANES << place) | spread_bits(reduced >> (4 * half)) << place;
        }
        true
    }

    /// Bit `c`: what lane `c` says of a candidate.
    fn candidate(&self, at: u8) -> u8 {
        bits(self.lanes[0] >> at) | bits(self.lanes[1] >> at) << 4
    }
}

/// Bit `8 i + j` becomes bit `8 j + i` (Hacker's Delight, 7-3).
#[inline(always)]
fn transpose(bytes: u64) -> u64 {
    let swap = (bytes ^ bytes >> 7) & 0x00aa_00aa_00aa_00aa;
    let bytes = bytes ^ swap ^ swap << 7;
    let swap = (bytes ^ bytes >> 14) & 0x0000_cccc_0000_cccc;
    let bytes = bytes ^ swap ^ swap << 14;
    let swap = (bytes ^ bytes >> 28) & 0x0000_0000_f0f0_f0f0;
    bytes ^ swap ^ swap << 28
}

/// Byte `i` goes to lane `i`.
#[inline(always)]
fn spread_bytes(bytes: u32) -> u64 {
    let bytes = u64::from(bytes);
    let bytes = (bytes | bytes << 16) & 0x0000_ffff_0000_ffff;
    (bytes | bytes << 8) & 0x00ff_00ff_00ff_00ff
}

/// Bit `i` of the low four goes to lane `i`.
fn spread_bits(bits: u8) -> u64 {
    let bits = u64::from(bits);
    bits & 1 | (bits & 2) << 15 | (bits & 4) << 30 | (bits & 8) << 45
}

/// The lowest bit of lane `i` becomes bit `i`.
#[inline(always)]
fn bits(lanes: u64) -> u8 {
    ((lanes & LANES).wrapping_mul(1 << 60 | 1 << 45 | 1 << 30 | 1 << 15) >> 60) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_change_places() {
        for i in 0..8 {
            for j in 0..8 {
                assert_eq!(transpose(1 << (8 * i + j)), 1 << (8 * j + i));
            }
        }
        assert_eq!(spread_bytes(0x8421_ff01), 0x0084_0021_00ff_0001);
        for nibble in 0..16 {
            assert_eq!(bits(spread_bits(nibble)), nibble);
            assert_eq!(bits(spread_bits(nibble) | 0xfffe_fffe_fffe_fffe), nibble);
        }
    }
}
