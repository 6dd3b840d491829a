//! Back-substitution: from the echelon form to the solution with free slots 0.

use super::eliminate::Echelon;
use super::equation::{REACH, WINDOW, WINDOWS_IN_BLOCK};

/// Columns that are solved together.
const COLUMNS: usize = 16;

/// The XOR of each subset of a window's solved slots.
type Table = [u16; 1 << WINDOW];

/// The first `unit_count` columns of the solution, as little-endian words.
///
/// Works from the last window to the first with the method of the Four Russians. The solution of a window becomes a table of the XOR of
/// each of its subsets. The contribution of a later window to an equation is then one lookup.
#[inline(always)]
pub(super) fn solve(echelon: &Echelon, unit_count: u8) -> Vec<Vec<u8>> {
    let unit_bytes = echelon.results.len() * WINDOW / 8;
    let mut units = vec![vec![0; unit_bytes]; usize::from(unit_count)];
    for (columns, units) in units.chunks_mut(COLUMNS).enumerate() {
        solve_columns(echelon, columns * COLUMNS, units);
    }
    units
}

/// Solves the columns from `first` on, one for each of `units`, at most [`COLUMNS`].
#[inline(always)]
fn solve_columns(echelon: &Echelon, first: usize, units: &mut [Vec<u8>]) {
    // Every table is stored twice, so that those after any window are contiguous.
    let mut tables = [[0; 1 << WINDOW]; 2 * REACH];
    let (coefficients, _) = echelon.coefficients.as_chunks::<WINDOWS_IN_BLOCK>();
    let (results, _) = echelon.results.as_chunks::<WINDOWS_IN_BLOCK>();
    for (block, (coefficients, results)) in coefficients.iter().zip(results).enumerate().rev() {
        let mut solution = [0; 64];
        for window in (0..WINDOWS_IN_BLOCK).rev() {
            let values = results[window].map(|result| (result >> first) as u16);
            let at = (block * WINDOWS_IN_BLOCK + window) % REACH;
            let Some(behind) = tables[at + 1..].first_chunk() else { break };
            let values = solve_window(values, &coefficients[window], behind);
            let (first, second) = tables.split_at_mut(REACH);
            subset_xors(&mut first[at], values);
            second[at].iter_mut().zip(&first[at]).for_each(|(second, first)| *second = *first);
            for (slot, value) in (window * WINDOW..).zip(values) {
                solution[place(slot)] = value;
            }
        }
        for (unit, column) in units.iter_mut().zip(transpose(solution)) {
            unit[block * 8..][..8].copy_from_slice(&column.to_le_bytes());
        }
    }
}

/// The solution of a window's slots, from their right-hand sides and the tables of the later windows.
#[inline(always)]
fn solve_window(
    mut values: [u16; WINDOW],
    coefficients: &[[u8; REACH]; WINDOW],
    behind: &[Table; REACH],
) -> [u16; WINDOW] {
    for (value, coefficients) in values.iter_mut().zip(coefficients) {
        // Starts with the farthest table, because the nearest is the last one to be computed.
        for t in (0..REACH).rev() {
            *value ^= behind[t][usize::from(coefficients[t])];
        }
    }
    values
}

/// Entry `i` becomes the XOR of the `values` whose bit is set in `i`.
#[inline(always)]
fn subset_xors(table: &mut Table, values: [u16; WINDOW]) {
    for (bit, value) in values.into_iter().enumerate() {
        let (known, next) = table.split_at_mut(1 << bit);
        next.iter_mut().zip(known).for_each(|(next, known)| *next = *known ^ value);
    }
}

/// The position at which [`transpose`] expects a slot of the block. Slots that are 16 apart are adjacent.
#[inline(always)]
fn place(slot: usize) -> usize {
    slot % 16 * 4 + slot / 16
}

/// Bit `slot` of word `column` is bit `column` of `rows[place(slot)]`.
#[inline(always)]
fn transpose(rows: [u16; 64]) -> [u64; COLUMNS] {
    let (rows, _) = rows.as_chunks::<4>();
    let mut words: [u64; COLUMNS] = std::array::from_fn(|r| {
        let [a, b, c, d] = rows[r].map(u64::from);
        a | b << 16 | c << 32 | d << 48
    });
    // Transposes four 16 by 16 matrices at once: blocks of 8, 4, ... columns are swapped with as many rows (Hacker's Delight, 7-3).
    let mut mask = 0x00ff_00ff_00ff_00ff;
    let mut half = 8;
    while half > 0 {
        for r in (0..COLUMNS).filter(|r| r & half == 0) {
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
        for slot in 0..64 {
            for column in 0..COLUMNS {
                let mut rows = [0; 64];
                rows[place(slot)] = 1 << column;
                let columns = transpose(rows);
                for (c, &word) in columns.iter().enumerate() {
                    assert_eq!(word, if c == column { 1 << slot } else { 0 }, "slot {slot} column {column}");
                }
            }
        }
    }

    #[test]
    fn subset_xors_are_what_they_say() {
        let values = std::array::from_fn(|i| (i as u16 + 1).wrapping_mul(0x79b9));
        let mut table = [0; 1 << WINDOW];
        subset_xors(&mut table, values);
        for (subset, &value) in table.iter().enumerate() {
            let expected =
                (0..WINDOW).filter(|bit| subset >> bit & 1 == 1).fold(0, |sum, bit| sum ^ values[bit]);
            assert_eq!(value, expected);
        }
    }
}
