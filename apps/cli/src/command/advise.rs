//! `springbloom advise`: expected wasted reads of a database with more or less filter memory.

mod advice;
mod plot;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use springbloom_console::Step;
use springbloom_console::bad_input;
use springbloom_console::sizes::{self, Size};
use springbloom_console::{output, picture};
use springbloom_rocksdb::usage::TableUsage;

use self::advice::{Advice, Question};
use crate::live_files::{live_files, of_file, saved_use};

/// Predict wasted reads with more or less filter memory, from the saved use of a database
///
/// Reads the use that Springbloom saves beside the tables, and the filter directories of the tables. The database may be open.
#[derive(Args, Debug)]
pub(crate) struct Advise {
    /// Folder of a RocksDB database
    db: PathBuf,
    /// Current budget [default: the budget when the use was saved]
    #[arg(long)]
    budget: Option<Size>,
    /// Difference to the larger and smaller budgets
    #[arg(long, default_value = "10MiB")]
    step: Size,
    /// Target of wasted reads per lookup
    #[arg(long, value_parser = sizes::number_within(0.0..=1000.0))]
    target: Option<f64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Also draw the curve to this .svg or .png file
    #[arg(long)]
    plot: Option<PathBuf>,
}

impl Advise {
    /// Prints the advice.
    ///
    /// # Errors
    /// A database that cannot be opened, or remembers nothing; a picture that cannot be written.
    pub(crate) fn run(&self) -> Result<()> {
        self.plot.as_ref().map_or(Ok(()), |path| picture::require_picture_name(path))?;
        let files = live_files(&self.db)?;
        let nothing = |why: &str| {
            bad_input(format!(
                "{} {why}: open it with elastic filters and look keys up first",
                self.db.display()
            ))
        };
        let usage = saved_use(&self.db)?.ok_or_else(|| nothing("remembers no use"))?;
        let step = Step::of("reading tables", files.len() as u64);
        let tables: Vec<TableUsage> = (files.iter())
            .inspect(|_| step.advance(1))
            .map(|file| of_file(&self.db, file, |path| usage.of_table(path)))
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
