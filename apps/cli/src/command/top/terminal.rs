//! The terminal while the live view has it.

use std::io::{Error, stdout};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use parking_lot::Mutex;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, disable_raw_mode};
use ratatui::layout::{Rect, Size};
use ratatui::{DefaultTerminal, Frame, TerminalOptions, Viewport};
use springbloom_console::signals::{Ending, before_a_signal_ends_us};

/// A frame takes some hundred bytes a cell, and terminals that run in a program say any size, up to 65,535 by 65,535: gigabytes.
const SIZE_MAX: Size = Size::new(1000, 500);
/// How long a signal waits for a frame. Nobody may be reading what is drawn.
const FRAME_PATIENCE: Duration = Duration::from_secs(1);

/// The terminal, empty once it was given back: at the end of the view, or before a signal ends the process.
type Held = Mutex<Option<DefaultTerminal>>;

/// A terminal in raw mode with its alternate screen, as long as this lives.
pub(super) struct Terminal {
    held: Arc<Held>,
    ending: Ending,
}

impl Terminal {
    /// Takes the terminal.
    ///
    /// # Errors
    /// Those of the terminal, which is given back then.
    pub(super) fn take() -> Result<Self> {
        let held = Arc::new(Held::default());
        let lent = held.clone();
        let ending = before_a_signal_ends_us(move || give_back(&lent))?;
        let terminal = Self { held, ending };
        // Locked, so that a signal meanwhile finds all of it or nothing.
        let mut held = terminal.held.lock();
        match enter() {
            Ok(entered) => *held = Some(entered),
            Err(error) => {
                _ = ratatui::try_restore();
                return Err(error).context("cannot use the terminal");
            }
        }
        drop(held);
        Ok(terminal)
    }

    /// Draws one frame; none once the terminal was given back.
    pub(super) fn draw(&self, render: impl FnOnce(&mut Frame<'_>)) -> Result<(), Error> {
        let mut held = self.held.lock();
        let Some(terminal) = held.as_mut() else { return Ok(()) };
        let area = drawn(terminal.size()?);
        if terminal.get_frame().area() != area {
            terminal.resize(area)?;
        }
        terminal.draw(render).map(|_| ())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        give_back(&self.held);
        self.ending.wait();
    }
}

fn enter() -> Result<DefaultTerminal, Error> {
    // The viewport is as large as the first frame.
    let terminal = ratatui::try_init_with_options(TerminalOptions { viewport: Viewport::Fixed(Rect::ZERO) })?;
    execute!(stdout(), EnterAlternateScreen)?;
    Ok(terminal)
}

/// As much of a terminal as is drawn.
fn drawn(size: Size) -> Rect {
    Rect::new(0, 0, size.width.min(SIZE_MAX.width), size.height.min(SIZE_MAX.height))
}

/// Leaves the terminal as it was. One that is gone is left alone.
fn give_back(held: &Held) {
    let Some(mut held) = held.try_lock_for(FRAME_PATIENCE) else {
        // A frame is stuck, and more output would be, too.
        _ = disable_raw_mode();
        return;
    };
    if let Some(mut terminal) = held.take() {
        _ = terminal.show_cursor();
        _ = ratatui::try_restore();
        // Its destructor would tell on standard error that the terminal is gone: it panics where that is the same terminal.
        mem::forget(terminal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_of_any_size_takes_little_memory() {
        for (said, area) in
            [((80, 24), (80, 24)), ((20_000, 10), (1000, 10)), ((65_535, 65_535), (1000, 500))]
        {
            assert_eq!(drawn(said.into()).as_size(), area.into());
        }
    }
}
