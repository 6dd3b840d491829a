//! Faults of table files that last for a while. How long is drawn; what is done meanwhile does not depend on it.

use std::time::{Duration, Instant};

use rand::RngExt;
use springbloom_testkit::seed::TestRng;

use crate::common::faults::Fault;

/// Operations between two faults, about.
const OPERATIONS_BETWEEN: u32 = 3_000;
/// Milliseconds of the longest, as a power of 2.
const LONGEST: f64 = 11.0;

/// The fault in force, if any. It ends when this is dropped, so that stores can close.
#[derive(Default)]
pub(crate) struct Outages {
    current: Option<(Fault, Instant)>,
}

impl Outages {
    /// Begins a fault now and then, and tells which.
    pub(crate) fn draw(&mut self, random: &mut TestRng) -> Option<Fault> {
        // Drawn also during a fault, so that the operations stay the same.
        if !random.random_ratio(1, OPERATIONS_BETWEEN) {
            return None;
        }
        let fault = Fault::ALL[random.random_range(0..Fault::ALL.len())];
        let length = Duration::from_millis(random.random_range(0.0..LONGEST).exp2() as u64);
        if self.current.is_some() {
            return None;
        }
        fault.set();
        self.current = Some((fault, Instant::now() + length));
        Some(fault)
    }

    /// Whether the fault in force has lasted for its time.
    pub(crate) fn is_due(&self) -> bool {
        self.current.is_some_and(|(_, end)| Instant::now() >= end)
    }

    /// The fault in force.
    pub(crate) fn fault(&self) -> Fault {
        self.current.map_or(Fault::None, |(fault, _)| fault)
    }

    /// Ends the fault. `false` if there is none.
    pub(crate) fn end(&mut self) -> bool {
        Fault::None.set();
        self.current.take().is_some()
    }
}

impl Drop for Outages {
    fn drop(&mut self) {
        self.end();
    }
}
