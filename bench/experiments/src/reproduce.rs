//! `springbloom reproduce`: runs experiments of the papers, and says what holds.

mod folders;
mod print;
mod runner;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, anyhow};
use clap::Args;
use springbloom_console::output;
use springbloom_records::{Build, Record};

use crate::catalogue;
use crate::record_store::{self, RecordStore};
use crate::run::{Run, Size};
pub(crate) use folders::records_folder;
use runner::Runner;

/// Run the experiments of the papers again, and say which of their figures hold
///
/// Each run is saved as a record, so an interrupted command continues where it stopped. Runs of another commit or with other settings are
/// repeated. `springbloom report` makes tables of the records.
#[derive(Args, Debug)]
pub struct Reproduce {
    /// Experiments, or `all`
    #[arg(value_name = "ID", required_unless_present = "list")]
    ids: Vec<String>,
    /// List experiments and what they measure: those of the IDs, or all
    #[arg(long, conflicts_with_all = ["quick", "no_run", "again", "any_commit", "records", "dir"])]
    list: bool,
    /// Small trees and short runs: about an hour in total, instead of a night
    #[arg(long)]
    quick: bool,
    /// Measure nothing: use existing records
    #[arg(long, conflicts_with = "again")]
    no_run: bool,
    /// Repeat runs that have a record
    #[arg(long)]
    again: bool,
    /// Also use records of other commits
    #[arg(long, conflicts_with = "again")]
    any_commit: bool,
    /// Folder of records, made if it is missing [default: springbloom/records in the cache folder of the user]
    #[arg(long, value_name = "DIR")]
    records: Option<PathBuf>,
    /// Folder for databases, made if it is missing; they are removed after their last run [default: springbloom/reproduce in the cache
    /// folder]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Reproduce {
    /// Runs what is missing, and prints the verdicts.
    ///
    /// # Errors
    /// Unknown ids, folders that cannot be used, and runs that failed, after all others.
    pub fn run(&self) -> Result<()> {
        if self.list {
            let experiments = if self.ids.is_empty() {
                catalogue::experiments().iter().collect()
            } else {
                catalogue::named(&self.ids)?
            };
            return print::list(&experiments);
        }
        let experiments = catalogue::named(&self.ids)?;
        let size = if self.quick { Size::Quick } else { Size::Full };
        let (records, runner) = if self.no_run {
            (folders::existing_records_folder(self.records.as_deref())?, None)
        } else {
            let records = folders::make_records_folder(self.records.as_deref())?;
            folders::require_writable(&records)?;
            record_store::tidy(
                &records,
                &catalogue::runs(&catalogue::experiments().iter().collect::<Vec<_>>()),
                size,
                catalogue::figures_of,
            )?;
            (records, Some(Runner::new(folders::make_databases_folder(self.dir.as_deref())?, size)?))
        };
        let mut store = RecordStore::read(&records, size)?;
        let runs = catalogue::runs(&experiments);
        let (mut failed, started) = (Vec::new(), Instant::now());
        for (at, run) in runs.iter().enumerate() {
            if let Some(kept) = store.get(&run.name).filter(|kept| self.is_current(kept, run, size)) {
                output::tell(format_args!(
                    "{}: kept from {} at {}",
                    run.name,
                    kept.date,
                    kept.build.commit_name()
                ));
            } else if let Some(runner) = &runner {
                output::tell(format_args!(
                    "[{}/{}] {}: {} ({:.0} minutes so far)",
                    at + 1,
                    runs.len(),
                    run.name,
                    run.command(size).join(" "),
                    started.elapsed().as_secs_f64() / 60.0
                ));
                let measured = runner.run(run).and_then(|record| {
                    let record = record.compact(&catalogue::figures_of(run));
                    record_store::save(&records, run, size, &record)?;
                    Ok(record)
                });
                match measured {
                    Ok(record) => store.put(&run.name, record),
                    Err(error) => {
                        output::warn(format_args!("{}: {error:#}", run.name));
                        failed.push(run.name.as_str());
                    }
                }
            }
            // What is left over does not change what follows.
            if let Some(Err(error)) = runner.as_ref().map(|runner| runner.clean(run, &runs[at + 1..])) {
                output::warn(format_args!("{error:#}"));
            }
        }
        print::verdicts(&experiments, &store)?;
        if failed.is_empty() {
            return Ok(());
        }
        Err(anyhow!("{} of {} runs failed: {}", failed.len(), runs.len(), failed.join(", ")))
    }

    /// Whether a record is what `run` would measure now. Says why not.
    fn is_current(&self, kept: &Record, run: &Run, size: Size) -> bool {
        let (measured, ours) = (kept.build.commit_name(), Build::this().commit_name());
        let again = if self.again {
            return false;
        } else if kept.command != run.command(size) {
            format!("was measured with other settings: {}", kept.command.join(" "))
        } else if measured != ours && !self.any_commit {
            format!("was measured at {measured}, and this program was built at {ours}")
        } else {
            return true;
        };
        let then = if self.no_run { "its record is used all the same" } else { "it is measured again" };
        output::tell(format_args!("{} {again}; {then}", run.name));
        false
    }
}
