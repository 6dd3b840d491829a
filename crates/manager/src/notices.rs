//! What operators should read. It goes to the program's logger, which only programs in Rust have, and waits for the host to tell it to the
//! logs of its databases.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Of more that come at once, the first ones tell what is wrong.
const WAITING_MAX: usize = 64;

/// What a log is to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The line.
    pub text: String,
    /// Whether something is wrong.
    pub is_warning: bool,
}

/// What no log of a database has yet. Thread-safe; nothing waits for a log.
#[derive(Debug, Default)]
pub struct Notices {
    waiting: Mutex<VecDeque<Notice>>,
}

impl Notices {
    /// Adds a warning.
    pub fn warn(&self, text: String) {
        log::warn!("{text}");
        self.add(Notice { text, is_warning: true });
    }

    /// Adds a line that warns of nothing.
    pub fn tell(&self, text: String) {
        log::info!("{text}");
        self.add(Notice { text, is_warning: false });
    }

    fn add(&self, notice: Notice) {
        let mut waiting = self.waiting.lock();
        if waiting.len() < WAITING_MAX {
            waiting.push_back(notice);
        }
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.lock().is_empty()
    }

    /// Takes what waits, the oldest first.
    pub fn take(&self) -> Vec<Notice> {
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
        assert_eq!((taken.len(), &*taken[0].text), (WAITING_MAX, "0"));
        assert!(notices.take().is_empty());
    }
}
