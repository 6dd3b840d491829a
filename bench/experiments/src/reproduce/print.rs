//! Lists and verdicts.

use std::io::Write;

use anyhow::Result;
use springbloom_console::{TextTable, output};

use crate::experiment::{Claim, Experiment, Measurement};
use crate::record_store::RecordStore;
use crate::tables::Table;
use crate::verdict::{Finding, judge};

/// All experiments, and how each is measured.
pub(super) fn list(experiments: &[&Experiment]) -> Result<()> {
    let mut table = TextTable::new(["id", "paper", "place", "what"]).with_names(4);
    for Experiment { id, paper, place, shows, measurement } in experiments {
        let what = match measurement {
            Measurement::Claims { .. } | Measurement::Table { .. } => shows.clone(),
            Measurement::Missing(why) => format!("{shows}. Not here: {why}"),
        };
        table.add_row([id.clone(), paper.clone(), place.clone(), what]);
    }
    output::report(|out| Ok(writeln!(out, "{table}")?))
}

/// Every claim with the paper's value, ours, and whether it holds.
pub(super) fn verdicts(experiments: &[&Experiment], store: &RecordStore) -> Result<()> {
    output::report(|out| {
        for experiment in experiments {
            let Experiment { id, paper, place, shows, measurement } = experiment;
            match measurement {
                Measurement::Table { runs, layout } => {
                    writeln!(out, "{id}: {shows} ({place})")?;
                    let Table { titles, rows } = Table::of(layout, runs, store).plain();
                    let mut table = TextTable::new(titles.iter().map(String::as_str)).with_names(1);
                    rows.into_iter().for_each(|row| table.add_row(row));
                    writeln!(out, "{table}")?;
                }
                Measurement::Missing(why) => {
                    writeln!(out, "{id}: not here ({paper}, {place}: {shows})\n  {why}")?
                }
                Measurement::Claims { claims, .. } => {
                    let verdicts = judge(claims, store);
                    writeln!(out, "{id}: {} ({paper}, {place}: {shows})", verdicts.text())?;
                    for (claim, finding) in claims.iter().zip(&verdicts.findings) {
                        writeln!(out, "  {}", line(claim, finding.as_ref()))?;
                    }
                }
            }
        }
        Ok(())
    })
}

fn line(claim: &Claim, finding: Option<&Finding>) -> String {
    let Claim { says, subject, format, is_timed, .. } = claim;
    let paper = claim.paper_text();
    let timed = if *is_timed { ", by times" } else { "" };
    match finding {
        None => format!("not measured   {says} ({}{timed}): paper {paper}", subject.name()),
        Some(Finding { ours, holds, why, .. }) => format!(
            "{}  {says} ({}{timed}): paper {paper}, here {}: {why}",
            if *holds { "holds        " } else { "does not hold" },
            subject.name(),
            format.text(*ours)
        ),
    }
}
