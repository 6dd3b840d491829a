//! Work of the host that touches files.

use crate::unit_source::Place;

/// Something that a thread which touches files does once. It must not own the [`Manager`](crate::Manager), whose end waits for it.
pub struct Chore {
    pub(crate) place: Place,
    pub(crate) run: Box<dyn FnOnce() + Send>,
}

impl Chore {
    /// `run` may block. A panic of it is counted.
    pub fn new(place: Place, run: impl FnOnce() + Send + 'static) -> Self {
        Self { place, run: Box::new(run) }
    }
}
