//! Brings the banded system into echelon form, a window of eight slots at a time (the method of the Four Russians).
//!
//! Equations are taken in the order of their starts. Those that have started and found no slot yet are *under way*. At each window,
//! up to eight of them become the pivots of its slots; the pivots' sums are put into tables, from which every equation left is
//! rid of its coefficients in the window by two lookups. The slots that get a pivot, and so the solution with free slots 0, do not
//! depend on the order of the digests.

use super::equation::{Arrangement, Equation, REACH, WINDOW};
use super::pivots::{NONE, Pivots};
use super::rows::RowHasher;
use crate::KeyDigest;

/// The system in echelon form: for each slot of a window the equation that has found it. In its own window it has no coefficient but
/// its own and some of free slots, which are 0.
#[derive(Default)]
pub(super) struct Echelon {
    /// Coefficients of the 16 windows behind the slot's own. All 0 if the slot is free.
    pub(super) coefficients: Vec<[[u8; REACH]; WINDOW]>,
    /// Right-hand sides, a bit per column.
    pub(super) results: Vec<[u32; WINDOW]>,
}

/// What eliminations need beside their result, to be used again.
#[derive(Default)]
pub(super) struct Elimination {
    pub(super) echelon: Echelon,
    arrangement: Arrangement,
    /// What starts in one block.
    digests: Vec<KeyDigest>,
    started: Vec<Equation>,
    under_way: Vec<Equation>,
}

impl Elimination {
    /// Eliminates the equations of all `digests`; `false` if they contradict each other. Repeated digests are one equation. Time
    /// linear in the keys; memory 20 bytes a slot and 8 a key.
    pub(super) fn eliminate(&mut self, digests: &[KeyDigest], rows: RowHasher, unit_words: u32) -> bool {
        let Self { echelon, arrangement, digests: block_digests, started, under_way } = self;
        arrangement.arrange(digests, rows, unit_words);
        echelon.clear(unit_words);
        under_way.clear();
        let mut first = 0;
        for ends in arrangement.blocks() {
            let last = ends[ends.len() - 1];
            block_digests.clear();
            arrangement.fetch(digests, first, last, block_digests);
            started.clear();
            started.extend(block_digests.iter().map(|&digest| Equation::new(digest, rows)));
            let mut from = 0;
            for (window, end) in ends.iter().enumerate() {
                let to = (end - first) as usize;
                under_way.extend_from_slice(&started[from..to]);
                from = to;
                echelon.eliminate_window(under_way, window);
            }
            first = last;
            if !to_next_block(under_way) {
                return false;
            }
        }
        true
    }
}

/// Counts coefficients from the next block on; `false` if an equation without any is left that is not `0 = 0`.
fn to_next_block(under_way: &mut Vec<Equation>) -> bool {
    let mut consistent = true;
    under_way.retain_mut(|equation| {
        *equation = equation.in_next_block();
        let goes_on = equation.has_coefficients();
        consistent &= goes_on || equation.result() == 0;
        goes_on
    });
    consistent
}

impl Echelon {
    fn clear(&mut self, unit_words: u32) {
        let windows = unit_words as usize * (64 / WINDOW);
        self.coefficients.clear();
        self.coefficients.reserve(windows);
        self.results.clear();
        self.results.reserve(windows);
    }

    /// Moves the pivots of a window from the equations under way to here, and leaves the others without coefficients in it.
    #[inline(always)]
    fn eliminate_window(&mut self, under_way: &mut Vec<Equation>, window: usize) {
        let pivots = Pivots::choose(under_way, window);
        let taken = take(under_way, &pivots);
        let (mut low, mut high) = ([Equation::default(); 16], [Equation::default(); 16]);
        subset_sums(&mut low, &taken[..4]);
        subset_sums(&mut high, &taken[4..]);
        let mut reduced = [Equation::default(); WINDOW];
        let mut coefficients = [[0; REACH]; WINDOW];
        let mut results = [0; WINDOW];
        for c in 0..WINDOW {
            let [a, b] = pivots.sums[c];
            reduced[c] = low[usize::from(a & 15)].plus(&high[usize::from(b & 15)]);
            coefficients[c] = reduced[c].behind(window);
            results[c] = reduced[c].result();
        }
        self.coefficients.push(coefficients);
        self.results.push(results);
        subset_sums(&mut low, &reduced[..4]);
        subset_sums(&mut high, &reduced[4..]);
        for equation in under_way {
            let coefficients = equation.window(window);
            let sum = low[usize::from(coefficients & 15)].plus(&high[usize::from(coefficients >> 4)]);
            *equation = equation.plus(&sum);
        }
    }
}

/// Takes the pivots out; the ones of free slots are 0 = 0.
#[inline(always)]
fn take(under_way: &mut Vec<Equation>, pivots: &Pivots) -> [Equation; WINDOW] {
    let mut taken = [Equation::default(); WINDOW];
    for (taken, at) in taken.iter_mut().zip(pivots.at) {
        if at != NONE {
            *taken = under_way[usize::from(at)];
        }
    }
    let mut left = pivots.taken;
    // From the last one down, so that none of them is moved.
    while left != 0 {
        let at = left.ilog2();
        under_way.swap_remove(at as usize);
        left ^= 1 << at;
    }
    taken
}

/// Entry `i` becomes the sum of the `equations` whose bit is set in `i`. Entry 0 is 0 = 0.
#[inline(always)]
fn subset_sums(table: &mut [Equation; 16], equations: &[Equation]) {
    for (bit, equation) in equations.iter().enumerate() {
        let (known, next) = table.split_at_mut(1 << bit);
        next.iter_mut().zip(known).for_each(|(next, known)| *next = known.plus(equation));
    }
}
