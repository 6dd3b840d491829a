//! `springbloom advise`: what more or less filter memory would do for a database, from what it remembers of its use.

mod advice;
mod plot;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use springbloom_console::Step;
use springbloom_console::bad_input;
use springbloom_console::output;
use springbloom_console::sizes::{self, Size};
use springbloom_rocksdb::usage::{TableUsage, Usage};

use self::advice::{Advice, Question};
use crate::live_files::live_files;

/// Tell what more or less memory for filters would do, from the use that a database remembers
///
/// Reads what Springbloom remembers beside the tables of the database, and their directories; the database may be in use.
#[derive(Args, Debug)]
pub(crate) struct Advise {
    /// Folder of a RocksDB database
    db: PathBuf,
    /// Budget to start from [default: the one in force when the use was written down]
    #[arg(long)]
    budget: Option<Size>,
    /// How much more or less to compare with
    #[arg(long, default_value = "10MiB")]
    step: Size,
    /// Wasted reads per lookup to reach
    #[arg(long, value_parser = sizes::number_within(0.0..=1000.0))]
    target: Option<f64>,
    /// Print one JSON document instead
    #[arg(long)]
    json: bool,
    /// Draw the curve to this file as well: .svg or .png
    #[arg(long)]
    plot: Option<PathBuf>,
}

impl Advise {
    /// Prints the advice.
    ///
    /// # Errors
    /// A database that cannot be opened, or remembers nothing; a picture that cannot be written.
    pub(crate) fn run(&self) -> Result<()> {
        let files = live_files(&self.db)?;
        let nothing = |why: &str| {
            bad_input(format!(
                "{} {why}: open it with elastic filters and look keys up first",
                self.db.display()
            ))
        };
        let usage = Usage::of_folder(&self.db)?.ok_or_else(|| nothing("remembers no use"))?;
        let step = Step::of("reading tables", files.len() as u64);
        let tables: Vec<TableUsage> = (files.iter())
            .inspect(|_| step.advance(1))
            .map(|file| usage.of_table(&self.db.join(file.name.trim_start_matches('/'))))
            .filter_map(Result::transpose)
            .collect::<Result<_, _>>()?;
        drop(step);
        let curve = usage.memory_curve(&tables);
        if curve.points().len() < 2 {
            return Err(nothing("remembers no lookups of absent keys"));
        }
        let question = Question {
            budget_bytes: self.budget.map_or(usage.budget_bytes(), |budget| budget.bytes),
            step_bytes: self.step.bytes,
            target: self.target,
            visits_per_lookup: usage.visits_per_lookup(),
            tables: tables.len(),
            remembered_tables: tables.iter().filter(|table| table.is_remembered).count(),
        };
        let advice = Advice::new(&curve, question);
        output::report(|out| if self.json { advice.write_json(out) } else { advice.write_text(out) })?;
        self.plot.as_ref().map_or(Ok(()), |path| plot::curve(path, &advice))
    }
}
