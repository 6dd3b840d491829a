//! `springbloom top`: what a program does with its filters, live.

mod endpoint;
mod reader;
mod reading;
mod report;
mod screen;
mod terminal;
mod text;

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use springbloom_console::output;
use springbloom_console::sizes;

use self::endpoint::Endpoint;
use self::report::Report;

/// Watch a program that serves its metrics: budget, resident units by level, wasted reads and loads by database
///
/// Rates are those between the last two readings. Visits of column families are an estimate (docs/guide.md).
#[derive(Args, Debug)]
pub(crate) struct Top {
    /// Where the program serves its metrics, such as http://localhost:9090/metrics
    url: String,
    /// Print one table, with counts since the program's start, and end
    #[arg(long)]
    once: bool,
    /// Print JSON, with counts since the program's start, and end
    #[arg(long)]
    json: bool,
    /// Seconds from reading to reading
    #[arg(long, default_value = "2", value_parser = sizes::number_within(0.1..=3600.0))]
    interval: f64,
}

impl Top {
    /// Shows the metrics.
    ///
    /// # Errors
    /// A URL that is none, a server that does not answer, metrics of another program.
    pub(crate) fn run(&self) -> Result<()> {
        let endpoint = Endpoint::new(&self.url)?;
        if self.json {
            return output::json(&serde_json::to_value(endpoint.read()?)?);
        }
        if self.once {
            let now = endpoint.read()?;
            let report = Report { now: &now, before: None };
            return output::report(|out| Ok(writeln!(out, "{}", report.text())?));
        }
        screen::run(&endpoint, Duration::from_secs_f64(self.interval))
    }
}
