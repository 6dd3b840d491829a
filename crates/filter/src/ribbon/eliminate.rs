//! Brings the banded system into echelon form, a window of eight slots at a time (the method of the Four Russians).
//!
//! Equations are taken in the order of their starts. An equation is *under way* if it has started and has no slot yet. At each window, up
//! to eight of them become the pivots of its slots. The sums of the pivots are put into tables, and two lookups reduce every other equation
//! by its coefficients in the window. Which slots get a pivot does not depend on the order of the digests, so neither does the solution
//! with free slots 0. Building 16 units takes 313 instructions a key; equation by equation it took 960 (d8ab5d0).

use super::equation::{Arrangement, Equation, REACH, WINDOW, bytes_of};
use super::pivots::{CANDIDATES, Pivots};
use super::rows::RowHasher;
use crate::KeyDigest;

/// The system in echelon form: the equation of each slot of a window. In its own window, an equation has its own coefficient and possibly
/// those of free slots, which are 0.
#[derive(Debug, Default)]
pub(super) struct Echelon {
    /// Coefficients of the 16 windows after the slot's own. All 0 if the slot is free.
    pub(super) coefficients: Vec<[[u8; REACH]; WINDOW]>,
    /// Right-hand sides, one bit per column.
    pub(super) results: Vec<[u32; WINDOW]>,
}

/// Solves several systems and reuses its memory.
#[derive(Debug, Default)]
pub(crate) struct RibbonBuilder {
    pub(super) echelon: Echelon,
    arrangement: Arrangement,
    tables: Tables,
}

impl RibbonBuilder {
    /// Bytes that it keeps from build to build.
    pub(crate) fn memory_bytes(&self) -> usize {
        let Self { echelon: Echelon { coefficients, results }, arrangement, tables: _ } = self;
        bytes_of(coefficients) + bytes_of(results) + arrangement.memory_bytes()
    }

    /// Eliminates the equations of all `digests`. Returns `false` if they have no solution. Repeated digests are one equation. Cost: time
    /// linear in the number of keys, 20 bytes of memory per slot and 36 per key.
    #[inline(always)]
    pub(super) fn eliminate(&mut self, digests: &[KeyDigest], rows: RowHasher, unit_words: u32) -> bool {
        let Self { echelon, arrangement, tables } = self;
        arrangement.arrange(digests, rows, unit_words, CANDIDATES);
        echelon.clear(unit_words);
        let (equations, blocks) = arrangement.blocks();
        // Order of the equations: done, under way, not started.
        let mut done = 0;
        for ends in blocks {
            for (window, &end) in ends.iter().enumerate() {
                let started = end as usize - done;
                done += echelon.eliminate_window(&mut equations[done..], started, tables, window);
            }
            let end = ends[ends.len() - 1] as usize;
            let Some(kept) = to_next_block(&mut equations[done..end]) else { return false };
            done = end - kept;
        }
        true
    }
}

/// Moves to the coefficients of the next block. Drops equations without any and moves the others to the end. Returns how many are left, or
/// `None` if a dropped equation is not `0 = 0`.
#[inline(always)]
fn to_next_block(equations: &mut [Equation]) -> Option<usize> {
    let mut all_go_on = true;
    for equation in &mut *equations {
        *equation = equation.in_next_block();
        all_go_on &= equation.has_coefficients();
    }
    if all_go_on { Some(equations.len()) } else { without_empty(equations) }
}

/// With different keys, an equation without coefficients almost always makes the try fail.
#[cold]
#[inline(never)]
fn without_empty(equations: &mut [Equation]) -> Option<usize> {
    let (mut first, mut consistent) = (equations.len(), true);
    for at in (0..equations.len()).rev() {
        let equation = equations[at];
        let is_kept = equation.has_coefficients();
        consistent &= is_kept | (equation.result() == 0);
        equations[first - 1] = equation;
        first -= usize::from(is_kept);
    }
    consistent.then_some(equations.len() - first)
}

impl Echelon {
    fn clear(&mut self, unit_words: u32) {
        let windows = unit_words as usize * (64 / WINDOW);
        self.coefficients.clear();
        self.coefficients.reserve(windows);
        self.results.clear();
        self.results.reserve(windows);
    }

    /// Moves the pivots of a window out of the equations, and reduces the others by their coefficients in it. Returns the number of pivots.
    /// The first `started` equations are under way. Afterwards the remaining ones begin after as many equations as there were pivots.
    #[inline(always)]
    fn eliminate_window(
        &mut self,
        equations: &mut [Equation],
        started: usize,
        tables: &mut Tables,
        window: usize,
    ) -> usize {
        let Some(pivots) = Pivots::choose(equations, started, window) else { return 0 };
        tables.set(std::array::from_fn(|c| pivots.of(c).map_or_else(Equation::default, |at| equations[at])));
        let mut rows = [Equation::default(); WINDOW];
        let mut coefficients = [[0; REACH]; WINDOW];
        let mut results = [0; WINDOW];
        for c in 0..WINDOW {
            rows[c] = tables.sum(pivots.sum(c));
            coefficients[c] = rows[c].behind(window);
            results[c] = rows[c].result();
        }
        self.coefficients.push(coefficients);
        self.results.push(results);
        tables.set(rows);
        for (from, to) in pivots.moves() {
            equations[to] = equations[from];
        }
        let done = pivots.count();
        // Four at a time, because the loop itself costs a large part of the time.
        let (fours, rest) = equations[done..started.max(done)].as_chunks_mut();
        for [a, b, c, d] in fours {
            *a = tables.reduce(a, window);
            *b = tables.reduce(b, window);
            *c = tables.reduce(c, window);
            *d = tables.reduce(d, window);
        }
        for equation in rest {
            *equation = tables.reduce(equation, window);
        }
        done
    }
}

/// The sums of all subsets of the first four equations of a window, and of the other four. Entry `i` is the sum of the equations whose bit
/// is set in `i`. Entry 0 is 0 = 0.
#[derive(Debug, Default)]
struct Tables {
    low: [Equation; 16],
    high: [Equation; 16],
}

impl Tables {
    #[inline(always)]
    fn set(&mut self, equations: [Equation; WINDOW]) {
        let [a, b, c, d, e, f, g, h] = equations;
        subset_sums(&mut self.low, [a, b, c, d]);
        subset_sums(&mut self.high, [e, f, g, h]);
    }

    /// The sum of the equations whose bits are set.
    #[inline(always)]
    fn sum(&self, equations: usize) -> Equation {
        self.low[equations % 16].plus(&self.high[equations / 16 % 16])
    }

    /// The equation reduced by its coefficients in the window.
    #[inline(always)]
    fn reduce(&self, equation: &Equation, window: usize) -> Equation {
        self.sum(equation.window(window).into()).plus(equation)
    }
}

#[inline(always)]
fn subset_sums(table: &mut [Equation; 16], equations: [Equation; 4]) {
    for (bit, equation) in equations.into_iter().enumerate() {
        let (known, next) = table.split_at_mut(1 << bit);
        next[0] = equation;
        next[1..].iter_mut().zip(&known[1..]).for_each(|(next, known)| *next = known.plus(&equation));
    }
}
