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

use self::advice::{Advice, Question};
use crate::database::{Database, Read};

/// Predict wasted reads with more or less filter memory, from the saved use of a database
///
/// Reads the use that Springbloom saves beside the tables, and the filter directories of the tables.
#[derive(Args, Debug)]
pub(crate) struct Advise {
    #[command(flatten)]
    database: Database,
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
    /// A database that cannot be read, or remembers nothing; a picture that cannot be written.
    pub(crate) fn run(&self) -> Result<()> {
        self.plot.as_ref().map_or(Ok(()), |path| picture::require_picture_name(path))?;
        let listed = self.database.tables()?;
        let nothing = |why: &str| {
            bad_input(format!(
                "{} {why}: open it with elastic filters and look keys up first",
                self.database.folder().display()
            ))
        };
        let usage = self.database.saved_use()?.ok_or_else(|| nothing("remembers no use"))?;
        let step = Step::of("reading tables", listed.len() as u64);
        let (mut tables, mut gone) = (Vec::new(), Vec::new());
        for table in listed {
            match self.database.read(&table, |path| usage.of_table(path))? {
                Read::Done(used) => tables.extend(used),
                Read::Gone => gone.push(table),
            }
            step.advance(1);
        }
        drop(step);
        self.database.explain_gone(&gone)?;
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
