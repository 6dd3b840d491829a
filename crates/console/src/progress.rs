//! Progress on standard error, so that standard output stays clean for tables and JSON. Nothing is drawn when standard
//! error is no terminal.

use std::io::{IsTerminal, stderr};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output;

/// Steps that take less time draw nothing.
const DELAY: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(200);

const BAR: &str = "{msg:40} {wide_bar} {percent:>3}% {eta:>4}";
const COUNTER: &str = "{spinner} {msg}: {human_pos} in {elapsed}";
const CLOCK: &str = "{spinner} {msg}: {elapsed}";

/// One step of the work. Cheap to advance; advance it in batches on hot paths.
pub struct Step {
    bar: ProgressBar,
    /// Dropping it ends the thread that waits to draw the step.
    _is_running: Option<Sender<()>>,
}

impl Step {
    /// Starts a step of a measurement with `total` units of work; announced with one line if there is no terminal.
    pub fn start(what: &str, total: u64) -> Self {
        if !stderr().is_terminal() {
            output::tell(what);
            return Step::hidden();
        }
        let bar = ProgressBar::new(total).with_message(what.to_owned()).with_style(style(BAR));
        bar.enable_steady_tick(TICK);
        Step { bar, _is_running: None }
    }

    /// A step that is not shown, for work inside another step.
    pub fn hidden() -> Self {
        Step { bar: ProgressBar::hidden(), _is_running: None }
    }

    /// A step with `total` units of work, drawn if it takes long.
    pub fn of(what: &str, total: u64) -> Self {
        Step::delayed(what, Some(total), BAR)
    }

    /// A step with a counter, drawn if it takes long.
    pub fn counting(what: &str) -> Self {
        Step::delayed(what, None, COUNTER)
    }

    /// A step without known progress, drawn with its time if it takes long.
    pub fn waiting(what: &str) -> Self {
        Step::delayed(what, None, CLOCK)
    }

    fn delayed(what: &str, total: Option<u64>, template: &str) -> Self {
        if !stderr().is_terminal() {
            return Step::hidden();
        }
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden())
            .with_message(what.to_owned())
            .with_style(style(template));
        let (is_running, is_over) = channel();
        let drawn = bar.clone();
        std::thread::spawn(move || {
            if is_over.recv_timeout(DELAY) == Err(RecvTimeoutError::Timeout) {
                drawn.set_draw_target(ProgressDrawTarget::stderr());
                drawn.enable_steady_tick(TICK);
            }
        });
        Step { bar, _is_running: Some(is_running) }
    }

    /// Adds `work` to the units that are done.
    pub fn advance(&self, work: u64) {
        self.bar.inc(work);
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
