//! Progress on standard error, so that standard output stays clean for tables and JSON. Nothing is drawn when standard
//! error is no terminal; then each step is announced with one line.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// One step with a known amount of work. Cheap to advance; advance it in batches on hot paths.
pub(crate) struct Step {
    bar: ProgressBar,
}

impl Step {
    /// Starts a step of `total` units of work, called `what`.
    pub(crate) fn start(what: &str, total: u64) -> Self {
        if !std::io::stderr().is_terminal() {
            eprintln!("{what}");
            return Step::hidden();
        }
        let bar = ProgressBar::new(total);
        let style = ProgressStyle::with_template("{msg:40} {wide_bar} {percent:>3}% {eta:>4}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        Step { bar }
    }

    /// A step that nobody sees: it is part of another one.
    pub(crate) fn hidden() -> Self {
        Step { bar: ProgressBar::hidden() }
    }

    /// Notes that `work` more units are done.
    pub(crate) fn advance(&self, work: u64) {
        self.bar.inc(work);
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
