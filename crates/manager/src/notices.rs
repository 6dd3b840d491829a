//! What operators should read. It goes to the program's logger, which only programs in Rust have, and waits for the host to tell it to the
//! logs of its databases.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Of more that come at once, the first ones tell what is wrong.
const WAITING_MAX: usize = 64;

/// Warnings that no log of a database has yet. Thread-safe; nothing waits for a log.
#[derive(Debug, Default)]
pub struct Notices {
    waiting: Mutex<VecDeque<String>>,
}

impl Notices {
    /// Adds a warning.
    pub fn warn(&self, text: String) {
        log::warn!("{text}");
        let mut waiting = self.waiting.lock();
        if waiting.len() < WAITING_MAX {
            waiting.push_back(text);
        }
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.lock().is_empty()
    }

    /// Takes the warnings that wait, the oldest first.
    pub fn take(&self) -> Vec<String> {
        self.waiting.lock().drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_warnings_wait_until_they_are_taken() {
        let notices = Notices::default();
        (0..1000).for_each(|n| notices.warn(n.to_string()));
        let taken = notices.take();
        assert_eq!((taken.len(), &*taken[0]), (WAITING_MAX, "0"));
        assert!(notices.take().is_empty());
    }
}
