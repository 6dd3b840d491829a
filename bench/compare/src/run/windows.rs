//! Wasted reads over time: counts of windows of so many operations, and the recovery after jumps of the hot set.

use std::time::Duration;

use serde::Serialize;

use crate::run::measure::Measured;

/// A window has recovered when its wasted reads per get are at most this many times those before the jump.
const RECOVERED: f64 = 1.1;

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

/// What a jump of the hot set cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Recovery {
    /// Measured operations before the jump.
    pub(crate) jump_ops: u64,
    /// Operations from the jump to the end of the first window that wastes at most a tenth more reads per get than the last
    /// window before the jump; `None` if there is no such window before the next jump or the end.
    pub(crate) recovery_ops: Option<u64>,
}

/// The recoveries from jumps once in `period_ops`, where `earlier_ops` were done before the first window. Jumps fall between
/// windows. A jump without a window before it is left out.
pub(crate) fn recoveries(windows: &[Window], period_ops: u64, earlier_ops: u64) -> Vec<Recovery> {
    let is_jump = |window: &Window| (earlier_ops + window.end_ops).is_multiple_of(period_ops);
    (windows.iter().enumerate())
        .filter(|(at, window)| is_jump(window) && at + 1 < windows.len())
        .map(|(at, before)| {
            let after = &windows[at + 1..];
            let until_jump = after.iter().position(is_jump).map_or(after.len(), |next| next + 1);
            let limit = before.wasted_reads_per_get() * RECOVERED;
            let recovered = after[..until_jump].iter().find(|window| window.wasted_reads_per_get() <= limit);
            Recovery {
                jump_ops: before.end_ops,
                recovery_ops: recovered.map(|window| window.end_ops - before.end_ops),
            }
        })
        .collect()
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

    #[test]
    fn recovery_is_counted_from_the_jump_to_the_first_window_that_is_as_good() {
        let wasted =
            [20, 10, /* jump */ 50, 12, 11, 10, /* jump */ 30, 20, 15, 12, /* jump */ 9];
        let windows: Vec<_> = (1..)
            .zip(wasted)
            .map(|(at, wasted_reads)| Window {
                end_ops: at * 100,
                gets: 100,
                wasted_reads,
                ..Window::default()
            })
            .collect();
        let recovery = |jump_ops, recovery_ops| Recovery { jump_ops, recovery_ops };
        assert_eq!(
            recoveries(&windows, 400, 200),
            [recovery(200, Some(300)), recovery(600, None), recovery(1000, Some(100))]
        );
        // The last window ends with a jump, after which nothing was measured.
        assert_eq!(recoveries(&windows[..6], 400, 200), [recovery(200, Some(300))]);
        // A jump before the first window has no window before it.
        assert_eq!(recoveries(&windows[..2], 400, 0), []);
    }
}
