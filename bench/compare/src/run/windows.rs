//! Wasted reads over time: counts of windows of so many operations.

use std::time::Duration;

use serde::Serialize;

use crate::run::measure::Measured;

/// What was counted in one window.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Window {
    /// Measured operations until its end.
    pub(crate) end_ops: u64,
    pub(crate) gets: u64,
    pub(crate) wasted_reads: u64,
    /// All data blocks that were read.
    pub(crate) data_reads: u64,
    pub(crate) seconds: f64,
}

impl Window {
    pub(crate) fn wasted_reads_per_get(&self) -> f64 {
        self.wasted_reads as f64 / self.gets.max(1) as f64
    }
}

/// The windows of a run so far.
#[derive(Debug)]
pub(crate) struct Windows {
    /// Operations of a window; `None` if windows are not counted.
    length_ops: Option<u64>,
    done_ops: u64,
    counted: Vec<Window>,
}

impl Windows {
    pub(crate) fn new(length_ops: Option<u64>) -> Self {
        Windows { length_ops, done_ops: 0, counted: Vec::new() }
    }

    /// How many of the next `operations` belong to the window in progress.
    pub(crate) fn piece(&self, operations: u64) -> u64 {
        self.length_ops.map_or(operations, |length| operations.min(length - self.done_ops % length))
    }

    /// Adds what was counted in the next `operations`, a [`piece`](Self::piece).
    pub(crate) fn add(&mut self, operations: u64, measured: &Measured, elapsed: Duration) {
        let Some(length) = self.length_ops else { return };
        if self.done_ops.is_multiple_of(length) {
            self.counted.push(Window { end_ops: self.done_ops, ..Window::default() });
        }
        self.done_ops += operations;
        if let Some(window) = self.counted.last_mut() {
            window.end_ops = self.done_ops;
            window.gets += measured.gets;
            // Windows are not counted beside batches.
            window.wasted_reads += measured.wasted_reads().unwrap_or(0);
            window.data_reads += measured.data_reads;
            window.seconds += elapsed.as_secs_f64();
        }
    }

    pub(crate) fn counted(&self) -> &[Window] {
        &self.counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(gets: u64, wasted: u64) -> Measured {
        let mut measured = Measured::nothing();
        (measured.gets, measured.data_reads) = (gets, wasted);
        measured
    }

    #[test]
    fn windows_add_up_to_the_total_however_rounds_divide_them() {
        let mut windows = Windows::new(Some(30));
        let (mut gets, mut wasted) = (0, 0);
        for round in 0..4 {
            let mut left = 50;
            while left > 0 {
                let piece = windows.piece(left);
                windows.add(piece, &measured(piece, piece / 2 + round), Duration::from_secs(piece));
                (gets, wasted) = (gets + piece, wasted + piece / 2 + round);
                left -= piece;
            }
        }
        let counted = windows.counted();
        let ends: Vec<_> = counted.iter().map(|window| window.end_ops).collect();
        assert_eq!(ends, [30, 60, 90, 120, 150, 180, 200]);
        assert!(counted[..6].iter().all(|window| window.gets == 30), "{counted:?}");
        assert_eq!(counted.iter().map(|window| window.gets).sum::<u64>(), gets);
        assert_eq!(counted.iter().map(|window| window.wasted_reads).sum::<u64>(), wasted);
        assert_eq!(counted.iter().map(|window| window.seconds).sum::<f64>(), 200.0);
    }

    #[test]
    fn without_windows_nothing_is_divided() {
        let mut windows = Windows::new(None);
        assert_eq!(windows.piece(50), 50);
        windows.add(50, &measured(50, 5), Duration::ZERO);
        assert!(windows.counted().is_empty());
    }
}
