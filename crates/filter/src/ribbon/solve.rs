//! Solves the banded system: Gaussian elimination key by key, then back-substitution for all columns at once.

use super::rows::{RowHasher, fingerprint};
use crate::KeyDigest;

/// Rows that one table of the back-substitution covers.
const CHUNK: usize = 8;

/// Tables that a band of 128 coefficients can reach beyond its own chunk.
const REACH: usize = 16;

/// The eliminated system: at most one equation per slot, whose first coefficient is at that slot.
#[derive(Default)]
pub(super) struct Bands {
    /// Side by side, because each step of the elimination needs all of it.
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    /// Coefficients from the slot on, low and high half; 0 if the slot is free, else bit 0 is set.
    low: u64,
    high: u64,
    /// Right-hand side, a bit per column.
    result: u32,
}

/// An equation on its way to a free slot: bit 0 of `low` is the coefficient of `slot`, and set.
#[derive(Clone, Copy)]
struct Equation {
    slot: usize,
    low: u64,
    high: u64,
    result: u32,
}

/// What became of an equation in one step.
enum Step {
    /// Another equation was subtracted; it goes on at a later slot.
    Reduced,
    /// It has found its slot, or says nothing new.
    Done,
    /// It contradicts the equations before it.
    Contradiction,
}

impl Equation {
    #[inline]
    fn new(digest: KeyDigest, rows: RowHasher) -> Self {
        let row = rows.row(digest);
        let (low, high) = (row.coefficients as u64, (row.coefficients >> 64) as u64);
        Self { slot: row.start as usize, low, high, result: fingerprint(digest) }
    }
}

impl Bands {
    /// Eliminates the equations of all `digests`; `false` if two of them contradict each other. Repeated digests are one
    /// equation. Expected time linear in the keys.
    ///
    /// Two equations are on their way at a time: each step waits for the one before it, and two that do not wait for each other
    /// take little longer than one. The result does not depend on the order.
    pub(super) fn eliminate(&mut self, digests: &[KeyDigest], rows: RowHasher, unit_words: u32) -> bool {
        self.slots.clear();
        self.slots.resize(unit_words as usize * 64, Slot::default());
        let mut equations = digests.iter().map(|&digest| Equation::new(digest, rows));
        let Some(first) = equations.next() else { return true };
        let Some(second) = equations.next() else { return self.finish(first) };
        let mut under_way = [first, second];
        loop {
            for lane in 0..under_way.len() {
                match self.step(&mut under_way[lane]) {
                    Step::Reduced => {}
                    Step::Done => match equations.next() {
                        Some(equation) => under_way[lane] = equation,
                        None => return self.finish(under_way[1 - lane]),
                    },
                    Step::Contradiction => return false,
                }
            }
        }
    }

    /// The last equation, alone.
    fn finish(&mut self, mut equation: Equation) -> bool {
        loop {
            match self.step(&mut equation) {
                Step::Reduced => {}
                Step::Done => return true,
                Step::Contradiction => return false,
            }
        }
    }

    #[inline(always)]
    fn step(&mut self, equation: &mut Equation) -> Step {
        let slot = &mut self.slots[equation.slot];
        if slot.low == 0 {
            *slot = Slot { low: equation.low, high: equation.high, result: equation.result };
            return Step::Done;
        }
        equation.low ^= slot.low;
        equation.high ^= slot.high;
        equation.result ^= slot.result;
        // Rare: 64 random coefficients that agree, or an equation near its end.
        if equation.low == 0 {
            if equation.high == 0 {
                return if equation.result == 0 { Step::Done } else { Step::Contradiction };
            }
            (equation.low, equation.high) = (equation.high, 0);
            equation.slot += 64;
        }
        let shift = equation.low.trailing_zeros();
        equation.slot += shift as usize;
        equation.low = equation.low >> shift | equation.high << 1 << (63 - shift);
        equation.high >>= shift;
        Step::Reduced
    }

    /// The first `unit_count` columns of the solution with free variables 0, each as little-endian words.
    ///
    /// Works upwards from the last slot in chunks of eight slots with the method of the Four Russians: the solution of a
    /// chunk becomes a table of the XOR of each of its subsets, and the part of a row that lies in later chunks is one lookup per
    /// byte of its coefficients.
    pub(super) fn solve(&self, unit_count: u8) -> Vec<Vec<u8>> {
        let unit_words = self.slots.len() / 64;
        let mut units = vec![vec![0; unit_words * 8]; usize::from(unit_count)];
        let mut tables = Box::new([[0u32; 1 << CHUNK]; REACH]);
        for word in (0..unit_words).rev() {
            let mut solution = [0u32; 64];
            for chunk_in_word in (0..64 / CHUNK).rev() {
                let first = word * 64 + chunk_in_word * CHUNK;
                let chunk = first / CHUNK;
                let solved = self.solve_chunk(first, chunk, &tables);
                tables[chunk % REACH] = subset_xors(solved);
                solution[chunk_in_word * CHUNK..][..CHUNK].copy_from_slice(&solved);
            }
            let columns = transpose(solution);
            for (unit, column) in units.iter_mut().zip(columns) {
                unit[word * 8..][..8].copy_from_slice(&column.to_le_bytes());
            }
        }
        units
    }

    /// The solution of the slots `first..first + CHUNK`. Table `(chunk + t) % REACH` covers the `t`-th chunk after this one.
    #[inline]
    fn solve_chunk(&self, first: usize, chunk: usize, tables: &[[u32; 1 << CHUNK]; REACH]) -> [u32; CHUNK] {
        let mut values = [0; CHUNK];
        let mut near = [0u32; CHUNK];
        for offset in 0..CHUNK {
            let Slot { low, high, result } = self.slots[first + offset];
            let coefficients = u128::from(high) << 64 | u128::from(low);
            // Counted from the chunk's first slot: byte 0 is this chunk, byte t the t-th after it.
            let bytes = (coefficients << offset).to_le_bytes();
            let beyond = (coefficients >> 1 >> (127 - offset)) as u8;
            let mut value = result ^ tables[chunk % REACH][usize::from(beyond)];
            for t in 1..REACH {
                value ^= tables[(chunk + t) % REACH][usize::from(bytes[t])];
            }
            values[offset] = value;
            near[offset] = u32::from(bytes[0]);
        }
        // From the last row up, each row that is solved is subtracted from all rows before it that contain it. A row contains
        // none before it, and itself only by the bit that is left out.
        for solved in (1..CHUNK).rev() {
            let row = values[solved];
            for offset in 0..CHUNK {
                let contains = if offset < solved { near[offset] >> solved & 1 } else { 0 };
                values[offset] ^= row & 0u32.wrapping_sub(contains);
            }
        }
        values
    }
}

/// Entry `i` is the XOR of the `rows` whose bit is set in `i`.
#[inline]
fn subset_xors(rows: [u32; CHUNK]) -> [u32; 1 << CHUNK] {
    let mut table = [0; 1 << CHUNK];
    for (bit, row) in rows.into_iter().enumerate() {
        let (known, next) = table.split_at_mut(1 << bit);
        next.iter_mut().zip(known).for_each(|(next, known)| *next = *known ^ row);
    }
    table
}

/// Bit `row` of word `column` is bit `column` of `rows[row]`.
fn transpose(rows: [u32; 64]) -> [u64; 32] {
    // Rows r and r + 32 share a word; then halves of 16, 8, ... columns change places with as many rows (Hacker's Delight, 7-3).
    let mut words: [u64; 32] = std::array::from_fn(|r| u64::from(rows[r]) | u64::from(rows[r + 32]) << 32);
    let mut mask = 0x0000_ffff_0000_ffff;
    let mut half = 16;
    while half > 0 {
        for r in (0..32).filter(|r| r & half == 0) {
            let swap = (words[r] >> half ^ words[r + half]) & mask;
            words[r] ^= swap << half;
            words[r + half] ^= swap;
        }
        half /= 2;
        mask ^= mask << half;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transpose_moves_every_bit() {
        for row in 0..64 {
            for column in 0..32 {
                let mut rows = [0; 64];
                rows[row] = 1 << column;
                let columns = transpose(rows);
                for (c, &word) in columns.iter().enumerate() {
                    assert_eq!(word, if c == column { 1 << row } else { 0 }, "row {row} column {column}");
                }
            }
        }
    }

    #[test]
    fn subset_xors_are_what_they_say() {
        let rows = std::array::from_fn(|i| (i as u32 + 1).wrapping_mul(0x9e37_79b9));
        for (subset, &value) in subset_xors(rows).iter().enumerate() {
            let expected =
                (0..CHUNK).filter(|bit| subset >> bit & 1 == 1).fold(0, |sum, bit| sum ^ rows[bit]);
            assert_eq!(value, expected);
        }
    }
}
