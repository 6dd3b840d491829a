//! The live view.

use std::io::{IsTerminal, stdin, stdout};
use std::time::{Duration, Instant};

use anyhow::Result;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Block, Gauge, Paragraph, Row, Table, TableState};
use springbloom_console::bad_input;

use super::endpoint::Endpoint;
use super::reader::Reader;
use super::reading::Reading;
use super::report::{Report, Rows};
use super::terminal::Terminal;

/// How long a key waits at most, and an answer of the server.
const ANSWER_PAUSE: Duration = Duration::from_millis(50);

/// What the screen shows.
pub(super) struct View<'a> {
    pub(super) title: String,
    pub(super) report: Report<'a>,
    /// Why there is nothing newer.
    pub(super) error: Option<&'a str>,
}

/// Two moments, and what went wrong since.
struct Moments {
    before: Option<(Reading, Instant)>,
    now: (Reading, Instant),
    error: Option<String>,
}

impl Moments {
    fn take_in(&mut self, read: Result<Reading>) {
        match read {
            Ok(reading) => {
                self.error = None;
                self.before = Some(std::mem::replace(&mut self.now, (reading, Instant::now())));
            }
            Err(error) => self.error = Some(springbloom_console::failure::sentence(&error)),
        }
    }

    fn report(&self) -> Report<'_> {
        let before =
            self.before.as_ref().map(|(reading, at)| (reading, self.now.1.saturating_duration_since(*at)));
        Report { now: &self.now.0, before }
    }
}

/// Shows the metrics until the user ends it.
///
/// # Errors
/// No terminal; metrics that cannot be read at first.
pub(super) fn run(endpoint: &Endpoint, interval: Duration) -> Result<()> {
    if !stdout().is_terminal() || !stdin().is_terminal() {
        return Err(bad_input("a live view needs a terminal: --once prints one table, --json the values"));
    }
    let mut moments = Moments { before: None, now: (endpoint.read()?, Instant::now()), error: None };
    let mut reader = Reader::start(endpoint.clone())?;
    let terminal = Terminal::take()?;
    let mut families = TableState::default();
    let mut next = Instant::now() + interval;
    loop {
        let title = format!("{}, every {} s", endpoint.url, interval.as_secs_f64());
        let view = View { title, report: moments.report(), error: moments.error.as_deref() };
        terminal.draw(|frame| draw(frame, &view, &mut families))?;
        let left = next.saturating_duration_since(Instant::now());
        let patience = if reader.is_asked() { ANSWER_PAUSE } else { left };
        if event::poll(patience)?
            && let Event::Key(key) = event::read()?
            && key.kind == KeyEventKind::Press
        {
            match key.code {
                KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
                KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return Ok(()),
                KeyCode::Down => families.scroll_down_by(1),
                KeyCode::Up => families.scroll_up_by(1),
                KeyCode::PageDown => families.scroll_down_by(10),
                KeyCode::PageUp => families.scroll_up_by(10),
                _ => {}
            }
        }
        if Instant::now() >= next && !reader.is_asked() {
            reader.ask();
        }
        if let Some(reading) = reader.take() {
            moments.take_in(reading);
            next = Instant::now() + interval;
        }
    }
}

/// Draws one frame.
pub(super) fn draw(frame: &mut Frame<'_>, view: &View<'_>, scrolled: &mut TableState) {
    let View { title, report, error } = view;
    let (levels, families) = (report.levels(), report.families());
    let level_rows = u16::try_from(levels.rows.len()).unwrap_or(u16::MAX).saturating_add(2);
    let [head, budget, uses, lookups, faults, level_area, family_area, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(level_rows),
        Constraint::Min(3),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Line::from(format!("springbloom top: {title}")).bold(), head);
    let gauge = Gauge::default().gauge_style(Style::new().fg(Color::Blue).bg(Color::Black));
    frame.render_widget(gauge.ratio(report.fullness()).label(report.budget()), budget);
    frame.render_widget(Line::from(report.uses()), uses);
    frame.render_widget(Line::from(report.visits()), lookups);
    if let Some(found) = report.faults() {
        frame.render_widget(Line::from(found).yellow(), faults);
    }
    frame.render_widget(table(levels, "levels"), level_area);
    frame.render_stateful_widget(
        table(families, "column families, most wasted reads first"),
        family_area,
        scrolled,
    );
    let (text, style) = match error {
        Some(error) => (format!("{error}; trying again"), Style::new().fg(Color::Red)),
        None => ("q ends, up and down scroll".to_owned(), Style::new().dim()),
    };
    frame.render_widget(Paragraph::new(text).style(style), foot);
}

/// Names take what they need and are cut at last, figures what their header or value takes.
fn table(Rows { header, names, rows }: Rows, title: &str) -> Table<'static> {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([header[column].len()]).max().unwrap_or(0) as u16
    };
    let widths: Vec<_> = (0..header.len())
        .map(|column| match column < names {
            true => Constraint::Max(width(column)),
            false => Constraint::Length(width(column)),
        })
        .collect();
    let aligned = |column: usize, cell: String| {
        let line = Line::from(cell);
        if column < names { line.left_aligned() } else { line.right_aligned() }
    };
    let row = |cells: Vec<String>| {
        Row::new(cells.into_iter().enumerate().map(|(at, cell)| aligned(at, cell)).collect::<Vec<_>>())
    };
    let head = row(header.iter().map(|&name| name.to_owned()).collect()).dim();
    Table::new(rows.into_iter().map(row).collect::<Vec<_>>(), widths)
        .header(head)
        .column_spacing(2)
        .row_highlight_style(Style::new().reversed())
        .block(Block::new().title(title.to_owned().bold()))
}

#[cfg(test)]
mod tests {
    use ratatui::backend::TestBackend;

    use super::*;

    fn reading(visits: u64, wasted: u64) -> Reading {
        let text = format!(
            "springbloom_budget_bytes 4194304.0\nspringbloom_peak_bytes 3145728.0\n\
             springbloom_used_bytes{{kind=\"units\"}} 2097152.0\nspringbloom_used_bytes{{kind=\"negative_cache\"}} 0.0\n\
             springbloom_resident_bytes{{level=\"6\"}} 2048.0\nspringbloom_resident_units{{level=\"6\"}} 32.0\n\
             springbloom_resident_bytes{{level=\"unknown\"}} 1.0\nspringbloom_resident_bytes{{level=\"10\"}} 1.0\n\
             springbloom_visits_total{{outcome=\"rejected\"}} {visits}\n\
             springbloom_visits_total{{outcome=\"wasted_read\"}} {wasted}\n\
             springbloom_units_loaded_total 7\nspringbloom_units_corrupt_total 2\n\
             springbloom_family_tables{{database=\"/data/one\",family=\"default\"}} 3.0\n\
             springbloom_family_visits_total{{database=\"/data/one\",family=\"default\",outcome=\"passed\"}} {visits}\n\
             springbloom_family_tables{{database=\"/data/two, {{x}}\",family=\"\"}} 1.0\n\
             springbloom_family_visits_total{{database=\"/data/two, {{x}}\",family=\"\",outcome=\"wasted_read\"}} {wasted}\n"
        );
        Reading::of(&text).expect("possible").expect("ours")
    }

    fn drawn(view: &View<'_>, width: u16, height: u16) -> Vec<String> {
        let mut terminal = ratatui::Terminal::new(TestBackend::new(width, height)).expect("a terminal");
        terminal.draw(|frame| draw(frame, view, &mut TableState::default())).expect("a frame");
        let buffer = terminal.backend().buffer();
        let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        (0..height).map(line).collect()
    }

    #[test]
    fn the_screen_shows_rates_between_two_moments() {
        let (before, now) = (reading(1000, 100), reading(3000, 200));
        let report = Report { now: &now, before: Some((&before, Duration::from_secs(2))) };
        let view = View { title: "here".to_owned(), report, error: None };
        let lines = drawn(&view, 120, 20);
        let text = lines.join("\n");
        assert_eq!(lines[0], "springbloom top: here");
        assert!(lines[1].contains("2 MiB of 4 MiB in use, at most 3 MiB so far"), "{text}");
        assert_eq!(lines[2], "units 2 MiB");
        assert!(
            lines[3].contains(
                "visits 1050/s, wasted reads 50/s (4.76% of visits, 0.00% to expect), units loaded 0/s"
            ),
            "{text}"
        );
        assert_eq!(lines[4], "units corrupt 2");
        let cells = |start: &str| {
            let line = lines
                .iter()
                .find(|line| line.starts_with(start))
                .unwrap_or_else(|| panic!("{start}\n{text}"));
            line.split("  ")
                .map(str::trim)
                .filter(|cell| !cell.is_empty())
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(cells("6 "), ["6", "2 KiB", "32"]);
        // Levels in their order, the one that has no number last.
        let places =
            ["6 ", "10 ", "unknown "].map(|name| lines.iter().position(|line| line.starts_with(name)));
        assert!(places.is_sorted() && places[0].is_some(), "{text}");
        assert_eq!(cells("/data/two"), ["/data/two, {x}", "?", "1", "0 B", "50/s", "50/s", "100.00%", "0/s"]);
        assert_eq!(cells("/data/one"), ["/data/one", "default", "3", "0 B", "1000/s", "0/s", "0.00%", "0/s"]);
        assert!(text.find("/data/two") < text.find("/data/one"), "who wastes most comes first\n{text}");
        assert_eq!(lines[19], "q ends, up and down scroll");
    }

    #[test]
    fn a_small_screen_and_an_error_do_no_harm() {
        let now = reading(10, 0);
        for (width, height) in [(1, 1), (10, 3), (40, 8), (300, 100)] {
            let report = Report { now: &now, before: None };
            let view = View { title: "here".to_owned(), report, error: Some("no answer") };
            let lines = drawn(&view, width, height);
            if width >= 40 {
                assert_eq!(lines[usize::from(height) - 1], "no answer; trying again");
            }
        }
    }

    #[test]
    fn what_is_read_later_is_compared_with_what_was_read_before() {
        let mut moments = Moments { before: None, now: (reading(10, 1), Instant::now()), error: None };
        assert!(moments.report().before.is_none());
        moments.take_in(Err(bad_input("nobody answers")));
        assert_eq!(moments.error.as_deref(), Some("nobody answers"));
        assert_eq!(moments.now.0, reading(10, 1));
        moments.take_in(Ok(reading(20, 2)));
        assert_eq!(moments.error, None);
        assert_eq!(moments.report().now.counts.visits, 22);
        assert_eq!(moments.report().before.expect("there was one").0, &reading(10, 1));
    }
}
