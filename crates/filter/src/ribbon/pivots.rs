//! Chooses a pivot for each column of a window.
//!
//! Gauss-Jordan elimination of the window's coefficients, one byte for each of a few candidate equations. One multiplication per word of
//! eight bytes adds a pivot to all candidates that have its column. It works in place: once a column has its pivot, its bits say to which
//! candidates the pivot was added.

use super::equation::{Equation, WINDOW};

/// With 16 candidates, a column seldom lacks a pivot that another equation has.
pub(super) const CANDIDATES: usize = 16;

/// Lowest bit of each byte.
const ONES: u64 = 0x0101_0101_0101_0101;

/// Fifth bit of each byte.
const FIFTHS: u64 = ONES << 4;

/// The places of all candidates.
const ALL: u64 = ONES | FIFTHS;

/// Stands for a column without a pivot, whose slot is free.
const NONE: u32 = 64;

/// The pivots of a window, by column.
#[derive(Clone, Copy)]
pub(super) struct Pivots {
    /// One byte per candidate: its remaining coefficients, and the pivots added to it. Candidates with even indices are in the first word,
    /// the others in the second.
    words: [u64; 2],
    /// Candidates that are not pivots. A candidate's *place* is the number of its byte's lowest bit, plus 4 in the second word.
    left: u64,
    /// Places of the pivots, or [`NONE`].
    places: [u32; WINDOW],
}

impl Pivots {
    /// Finds pivots among the first `started` equations, none of which has a coefficient before the window. Moves the pivots to the
    /// candidates. The coefficients of all other equations in the window are then sums of those of pivots. `None` if there are fewer
    /// equations than candidates.
    #[inline(always)]
    pub(super) fn choose(equations: &mut [Equation], started: usize, window: usize) -> Option<Self> {
        let mut words = [0; 2];
        for (i, pair) in equations.first_chunk::<CANDIDATES>()?.as_chunks::<2>().0.iter().enumerate() {
            words[0] |= u64::from(pair[0].window(window)) << (8 * i);
            words[1] |= u64::from(pair[1].window(window)) << (8 * i);
        }
        if started < CANDIDATES {
            words[0] &= low_bytes(started.div_ceil(2));
            words[1] &= low_bytes(started / 2);
        }
        let mut pivots = Self { words, left: ALL, places: [NONE; WINDOW] };
        let mut search = Search { equations, started, window };
        pivots.column::<0>(&mut search);
        pivots.column::<1>(&mut search);
        pivots.column::<2>(&mut search);
        pivots.column::<3>(&mut search);
        pivots.column::<4>(&mut search);
        pivots.column::<5>(&mut search);
        pivots.column::<6>(&mut search);
        pivots.column::<7>(&mut search);
        Some(pivots)
    }

    /// Index of the column's pivot.
    #[inline(always)]
    pub(super) fn of(&self, column: usize) -> Option<usize> {
        let place = self.places[column];
        (place != NONE).then_some(index(place))
    }

    /// The pivots whose sum has this column and no other pivot's, as bits. No bits if the column has no pivot.
    #[inline(always)]
    pub(super) fn sum(&self, column: usize) -> usize {
        let place = self.places[column];
        if place == NONE { 0 } else { self.candidate(place) as usize }
    }

    /// Number of pivots.
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        CANDIDATES - self.left.count_ones() as usize
    }

    /// The swaps that bring all pivots to the front of the candidates.
    #[inline(always)]
    pub(super) fn moves(&self) -> impl Iterator<Item = (usize, usize)> {
        let first = (1 << (4 * self.count())) - 1;
        let (mut others, mut pivots) = (self.left & first, !self.left & ALL & !first);
        std::iter::from_fn(move || {
            let found =
                (others != 0).then_some((index(others.trailing_zeros()), index(pivots.trailing_zeros())));
            others &= others.wrapping_sub(1);
            pivots &= pivots.wrapping_sub(1);
            found
        })
    }

    /// Finds the pivot of column `C` and adds it to all candidates that have the column.
    #[inline(always)]
    fn column<const C: usize>(&mut self, search: &mut Search<'_>) {
        let mut having = self.having(C);
        if having & self.left == 0 {
            let Some(found) = search.beyond_candidates(*self, C) else { return };
            *self = found;
            having = self.having(C);
        }
        let pivot = (having & self.left).trailing_zeros();
        self.places[C] = pivot;
        self.left ^= 1 << pivot;
        having ^= 1 << pivot;
        let added = self.candidate(pivot) & !(1 << C);
        self.words[0] ^= (having & ONES) * added;
        self.words[1] ^= (having >> 4 & ONES) * added;
    }

    /// A bit at the place of each candidate that has the column.
    #[inline(always)]
    fn having(&self, column: usize) -> u64 {
        let second = if column < 4 { self.words[1] << (4 - column) } else { self.words[1] >> (column - 4) };
        self.words[0] >> column & ONES | second & FIFTHS
    }

    #[inline(always)]
    fn candidate(&self, place: u32) -> u64 {
        let word = if place & 4 == 0 { self.words[0] } else { self.words[1] };
        word >> (place & 56) & 0xff
    }
}

/// The equations in which pivots are searched.
struct Search<'e> {
    equations: &'e mut [Equation],
    started: usize,
    window: usize,
}

impl Search<'_> {
    /// Searches the equations after the candidates for one that has the column after reduction by the pivots so far. Swaps it with a
    /// candidate that is not a pivot.
    #[cold]
    #[inline(never)]
    fn beyond_candidates(&mut self, mut pivots: Pivots, column: usize) -> Option<Pivots> {
        let beyond = self.equations.get(CANDIDATES..self.started)?;
        // The reduced column is the sum of some earlier columns.
        let (mut with_pivot, mut summed) = (0, 1 << column);
        for (c, &place) in pivots.places.iter().enumerate().filter(|&(_, &place)| place != NONE) {
            with_pivot |= 1 << c;
            summed |= (pivots.candidate(place) >> column & 1) << c;
        }
        let has = |equation: &Equation| (equation.window(self.window) & summed as u8).count_ones() % 2 == 1;
        let found = CANDIDATES + beyond.iter().position(has)?;
        let coefficients = u64::from(self.equations[found].window(self.window));
        let added =
            (0..WINDOW).filter(|c| (coefficients & with_pivot) >> c & 1 == 1).map(|c| pivots.places[c]);
        let reduced = added.fold(coefficients & !with_pivot, |sum, pivot| sum ^ pivots.candidate(pivot));
        let place = pivots.left.trailing_zeros();
        self.equations.swap(index(place), found);
        let change = pivots.candidate(place) ^ reduced;
        pivots.words[usize::from(place & 4 != 0)] ^= change << (place & 56);
        Some(pivots)
    }
}

/// The index of the candidate at a place.
#[inline(always)]
fn index(place: u32) -> usize {
    place as usize / 4 % CANDIDATES
}

/// The lowest `count` bytes of a word.
#[cold]
fn low_bytes(count: usize) -> u64 {
    u64::MAX.checked_shr(64 - 8 * count as u32).unwrap_or(0)
}
