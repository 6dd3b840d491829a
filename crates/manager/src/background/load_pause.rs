//! The pause between reads that found no room.

use std::time::{Duration, Instant};

use super::worker::NAP_MAX;

/// How long units are not read because there is no room for the next one: short at first, as a lookup holds a replaced group for the time
/// of one probe; longer and longer where nothing tells when there will be.
#[derive(Default)]
pub(super) struct LoadPause {
    /// Zero while there is none.
    length: Duration,
    ends: Option<Instant>,
}

/// The first pause.
pub(super) const LOAD_PAUSE_MIN: Duration = Duration::from_micros(50);

impl LoadPause {
    pub(super) fn lengthen(&mut self) {
        self.length = (self.length * 2).clamp(LOAD_PAUSE_MIN, NAP_MAX);
        self.ends = Some(Instant::now() + self.length);
    }

    pub(super) fn is_on(&self) -> bool {
        self.ends.is_some()
    }

    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    /// How long nothing must be read.
    pub(super) fn left(&self) -> Duration {
        self.ends.map_or(Duration::ZERO, |ends| ends.saturating_duration_since(Instant::now()))
    }

    /// Whether it would be over by now if a lookup were all that is waited for.
    pub(super) fn is_long(&self) -> bool {
        self.length >= NAP_MAX
    }
}
