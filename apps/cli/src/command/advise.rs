//! `springbloom advise`: whether a database needs Springbloom, and what more or less filter memory would do.

mod advice;
mod indexes;
pub(crate) mod log;
mod modelled;
mod report;
mod survey;
mod verdict;

use anyhow::{Result, bail};
use clap::Args;
use springbloom_console::sizes::{self, Size};
use springbloom_console::{Step, bad_input, output};
use springbloom_rocksdb::inspect::TableSummary;
use springbloom_rocksdb::listed_tables::ListedTable;
use springbloom_rocksdb::usage::{TableUsage, Usage};
use springbloom_rocksdb::{Error, inspect};

use self::advice::{Advice, Question};
use self::indexes::{Indexes, Ratios};
use self::log::Log;
use self::modelled::{Lookups, Modelled};
use self::report::Report;
use self::survey::Survey;
use self::verdict::Verdict;
use crate::database::{Database, Read};

/// Tell whether a database needs Springbloom, and what more or less filter memory would do
///
/// Reads the list of tables, the properties of each table, up to 2 MiB of 16 tables to measure smaller indexes, RocksDB's LOG, and the
/// hotness file if the database was open with elastic filters. Writes nothing.
#[derive(Args, Debug)]
pub(crate) struct Advise {
    #[command(flatten)]
    database: Database,
    /// Memory for block cache and filters together [default: from the LOG, if it has it]
    #[arg(long, value_parser = sizes::within(4096..=u64::MAX, 1))]
    memory: Option<Size>,
    /// Current budget of elastic filters [default: that of the hotness file]
    #[arg(long)]
    budget: Option<Size>,
    /// Target of wasted reads per lookup; needs a hotness file
    #[arg(long, value_parser = sizes::number_within(0.0..=1000.0))]
    target: Option<f64>,
    /// Popularity of keys for the model: exponent of Zipf's law; 0: uniform
    #[arg(long, value_name = "EXPONENT", default_value_t = 0.99, value_parser = sizes::number_within(0.0..=2.0))]
    zipf: f64,
    /// Share of the lookups that find nothing, for the model
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, value_parser = sizes::number_within(0.0..=1.0))]
    absent_share: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What was read of all tables.
#[derive(Default)]
struct Tables {
    survey: Survey,
    read: Vec<(ListedTable, TableSummary)>,
    used: Vec<TableUsage>,
    damaged: Vec<Error>,
}

impl Advise {
    /// Prints the advice.
    ///
    /// # Errors
    /// A database that cannot be read; flags that need saved use where there is none. After the advice: saved use that cannot be read,
    /// tables that are damaged.
    pub(crate) fn run(&self) -> Result<()> {
        self.database.require_database()?;
        let (usage, use_fault) = self.database.saved_use();
        let Tables { survey, read, used, damaged } = self.read_tables(usage.as_ref())?;
        let indexes = self.measure_indexes(&survey, &read)?;
        let measured = self.measured(usage.as_ref(), &used);
        let flag = self.budget.map(|_| "--budget").or(self.target.map(|_| "--target"));
        if let (Err(why), Some(flag)) = (&measured, flag) {
            let folder = self.database.folder().display();
            return Err(bad_input(format!(
                "{flag} needs measured use, and {folder} {why}: open it with elastic filters and look keys up first"
            )));
        }
        let (log, log_fault) = match Log::of_folder(self.database.folder()) {
            Ok(log) => (log, None),
            Err(fault) => (None, Some(fault.to_string())),
        };
        let memory = verdict::memory(self.memory.map(|memory| memory.bytes), &survey, log.as_ref());
        let lookups = Lookups { zipf: self.zipf, absent_share: self.absent_share };
        let modelled = Modelled::of(&survey, indexes, memory.map(|memory| memory.bytes), lookups);
        let verdict = Verdict::of(&survey, log.as_ref(), memory, modelled.as_ref());
        let not_measured = measured.as_ref().err().map(|why| format!("it {why}"));
        let report = Report {
            database: survey,
            indexes,
            log,
            log_fault,
            modelled,
            verdict,
            measured: measured.ok(),
            not_measured,
        };
        match self.json {
            true => output::json(&report)?,
            false => output::report(|out| report.write_text(out))?,
        }
        let folder = self.database.folder().display();
        if let Some(first) = damaged.first() {
            bail!("{folder}: damaged tables were left out: {}, first: {first}", damaged.len());
        }
        use_fault.map_or(Ok(()), Err)
    }

    /// What the tables say of themselves, and their saved use, one after the other.
    fn read_tables(&self, usage: Option<&Usage>) -> Result<Tables> {
        let listed = self.database.tables()?;
        let step = Step::of("reading tables", listed.len() as u64);
        let (mut tables, mut gone) = (Tables::default(), Vec::new());
        for table in listed {
            let read = self.database.read(&table, |path| {
                let summary = inspect::summary(path)?;
                let used =
                    usage.filter(|_| summary.has_units).map(|usage| usage.of_table(path)).transpose()?;
                Ok((summary, used.flatten()))
            })?;
            match read {
                Read::Done((summary, used_table)) => {
                    tables.survey.add(&table, &summary);
                    tables.used.extend(used_table);
                    tables.read.push((table, summary));
                }
                Read::Gone => gone.push(table),
                Read::Damaged(error) => tables.damaged.push(error),
            }
            step.advance(1);
        }
        drop(step);
        self.database.explain_gone(&gone)?;
        Ok(tables)
    }

    /// What smaller indexes would take; `None` where no table could be measured.
    fn measure_indexes(
        &self,
        survey: &Survey,
        tables: &[(ListedTable, TableSummary)],
    ) -> Result<Option<Indexes>> {
        let sampled = indexes::sample(tables);
        let step = Step::of("measuring indexes", sampled.len() as u64);
        let mut measured = Vec::new();
        for (at, weight) in sampled {
            let (listed, table) = &tables[at];
            if let Read::Done(ratios) = self.database.read(listed, |path| Ratios::of(path, table))? {
                measured.push((ratios, weight));
            }
            step.advance(1);
        }
        Ok(indexes::of_all(survey.index_bytes, &measured))
    }

    /// What was measured, or why it is not known.
    fn measured(&self, usage: Option<&Usage>, tables: &[TableUsage]) -> Result<Advice, String> {
        let usage = usage.ok_or("remembers no use")?;
        let visits_per_lookup = usage.visits_per_lookup().ok_or("remembers no lookups")?;
        let curve = usage.memory_curve(tables);
        if curve.points().len() < 2 {
            return Err("remembers no lookups of absent keys".to_owned());
        }
        let question = Question {
            budget_bytes: self.budget.map_or(usage.budget_bytes(), |budget| budget.bytes),
            target: self.target,
            visits_per_lookup,
            tables: tables.len(),
            remembered_tables: tables.iter().filter(|table| table.is_remembered).count(),
            wasted_reads_seen: usage.wasted_reads_seen(),
        };
        Ok(Advice::new(&curve, question))
    }
}
