//! How callers watch calls that may take long, and end them early.

use std::ops::ControlFlow;

use crate::FlashError;

/// Receives the units that are done, and all of them as far as they are known. A break ends the call.
type Tell<'w> = dyn FnMut(u64, u64) -> ControlFlow<()> + 'w;

/// How far a call has come, told to its caller after each step of a fraction of a second.
///
/// If the caller answers with a break, the call ends with [`FlashError::Stopped`], at a place where the structure is sound: each call says
/// what it leaves.
#[derive(Default)]
pub struct Watch<'w> {
    tell: Option<Box<Tell<'w>>>,
    done: u64,
    total: u64,
}

impl<'w> Watch<'w> {
    /// Calls `tell` with the units done and their total, which may rise while parts of the work become known.
    pub fn new(tell: impl FnMut(u64, u64) -> ControlFlow<()> + 'w) -> Watch<'w> {
        Watch { tell: Some(Box::new(tell)), done: 0, total: 0 }
    }

    /// Nobody watches, and nothing ends the call.
    pub fn none() -> Watch<'static> {
        Watch::default()
    }

    /// Units that are still to be done are `more` than was known.
    pub fn expect(&mut self, more: u64) {
        self.total += more;
    }

    /// `units` more are done. Errors: [`FlashError::Stopped`] if the caller ends the call.
    pub fn advance(&mut self, units: u64) -> Result<(), FlashError> {
        self.done += units;
        self.total = self.total.max(self.done);
        let told = self.tell.as_mut().map(|tell| tell(self.done, self.total));
        if told.is_some_and(|told| told.is_break()) { Err(FlashError::Stopped) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_rise_with_what_becomes_known_and_a_break_ends_the_work() {
        let mut told = Vec::new();
        let mut watch = Watch::new(|done, total| {
            told.push((done, total));
            if done > 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        watch.expect(3);
        assert!(watch.advance(2).is_ok());
        watch.expect(4);
        watch.expect(1);
        assert!(watch.advance(2).is_ok());
        assert!(matches!(watch.advance(4), Err(FlashError::Stopped)));
        drop(watch);
        assert_eq!(told, [(2, 3), (4, 8), (8, 8)]);
        assert!(Watch::none().advance(1).is_ok());
    }
}
