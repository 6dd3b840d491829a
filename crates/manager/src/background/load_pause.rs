//! The pause between reads that found no room.

use std::time::{Duration, Instant};

/// How long to wait before units are read again. Short at first, because a lookup holds a replaced group for one probe only. Each further
/// pause is twice as long, because nothing tells when there is room.
#[derive(Default)]
pub(super) struct LoadPause {
    /// Zero: no pause.
    length: Duration,
    ends: Option<Instant>,
}

/// How long the idle thread sleeps at most.
pub(super) const NAP_MAX: Duration = Duration::from_millis(16);
/// The first pause.
pub(super) const LOAD_PAUSE_MIN: Duration = Duration::from_micros(50);

impl LoadPause {
    pub(super) fn lengthen(&mut self) {
        self.length = (self.length * 2).clamp(LOAD_PAUSE_MIN, NAP_MAX);
        self.ends = Some(Instant::now() + self.length);
    }

    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    /// The rest of the pause.
    pub(super) fn left(&self) -> Duration {
        self.ends.map_or(Duration::ZERO, |ends| ends.saturating_duration_since(Instant::now()))
    }

    /// Whether something else than a lookup holds the room: a lookup would have let go by now.
    pub(super) fn is_long(&self) -> bool {
        self.length >= NAP_MAX
    }
}
