//! Lists and verdicts, as text and JSON.

use std::io::Write;

use anyhow::Result;
use serde_json::{Value, json};
use springbloom_console::{TextTable, output};

use crate::experiment::{Claim, Experiment, Here};
use crate::lab::Lab;
use crate::reason::told;
use crate::tables::Table;
use crate::verdict::{Finding, Verdict, judge};

/// All experiments, and how each is measured.
pub(super) fn list(experiments: &[&Experiment]) -> Result<()> {
    let mut table = TextTable::new(["id", "paper", "place", "what"]).with_names(4);
    for Experiment { id, paper, place, shows, here } in experiments {
        let what = match here {
            Here::Measured { .. } | Here::Tabled { .. } => shows.clone(),
            Here::Not(why) => format!("{shows}. Not here: {why}"),
        };
        table.add_row([id.clone(), paper.clone(), place.clone(), what]);
    }
    output::report(|out| Ok(writeln!(out, "{table}")?))
}

pub(super) fn list_json(experiments: &[&Experiment]) -> Result<()> {
    output::json(&experiments.iter().map(|experiment| described(experiment)).collect())
}

fn described(Experiment { id, paper, place, shows, here }: &Experiment) -> Value {
    let (runs, why_not) = match here {
        Here::Measured { runs, .. } | Here::Tabled { runs, .. } => {
            (runs.iter().map(|run| run.name.as_str()).collect(), None)
        }
        Here::Not(why) => (Vec::new(), Some(why)),
    };
    json!({"id": id, "paper": paper, "place": place, "shows": shows, "runs": runs, "why_not": why_not})
}

/// Every claim with the paper's value, ours, their ratio, and whether it holds.
pub(super) fn verdicts(experiments: &[&Experiment], lab: &Lab) -> Result<()> {
    output::report(|out| {
        let mut counts = [0; Verdict::ALL.len()];
        for experiment in experiments {
            let judged = judge(experiment, lab);
            let Experiment { id, paper, place, shows, here } = experiment;
            if let Here::Tabled { runs, layout } = here {
                writeln!(out, "{id}: {shows} ({place})")?;
                let Table { titles, rows } = Table::of(layout, runs, lab)?.plain();
                let mut table = TextTable::new(titles.iter().map(String::as_str)).with_names(1);
                rows.into_iter().for_each(|row| table.add_row(row));
                writeln!(out, "{table}")?;
                continue;
            }
            let at = Verdict::ALL.iter().position(|known| *known == judged.verdict).unwrap_or_default();
            counts[at] += 1;
            writeln!(out, "{id}: {} ({}, {place}: {shows})", judged.text(), paper)?;
            match here {
                Here::Not(why) => writeln!(out, "  {why}")?,
                Here::Measured { claims, .. } => {
                    for (claim, finding) in claims.iter().zip(&judged.findings) {
                        writeln!(out, "  {}", line(claim, finding.as_ref()))?;
                    }
                }
                Here::Tabled { .. } => (),
            }
        }
        let texts: Vec<_> = Verdict::ALL
            .iter()
            .zip(counts)
            .map(|(verdict, count)| format!("{}: {count}", verdict.name()))
            .collect();
        let judged: usize = counts.iter().sum();
        if judged > 0 {
            writeln!(out, "\n{judged} experiments of papers. {}.", texts.join(", "))?;
        }
        Ok(())
    })
}

fn line(claim: &Claim, finding: Option<&Finding>) -> String {
    let Claim { says, whose, shown, is_timed, .. } = claim;
    let paper = claim.paper_text();
    let timed = if *is_timed { ", by times" } else { "" };
    match finding {
        None => format!("not measured   {says} ({}{timed}): paper {paper}", whose.name()),
        Some(Finding { ours, ratio, holds, why, .. }) => format!(
            "{}  {says} ({}{timed}): paper {paper}, here {}, ratio {ratio:.2}: {why}",
            if *holds { "holds        " } else { "does not hold" },
            whose.name(),
            shown.text(*ours)
        ),
    }
}

pub(super) fn verdicts_json(experiments: &[&Experiment], lab: &Lab) -> Result<()> {
    let one = |experiment: &&Experiment| {
        let judged = judge(experiment, lab);
        let count = judged.count();
        let claims: Vec<_> = match &experiment.here {
            Here::Measured { claims, .. } => claims
                .iter()
                .zip(judged.findings)
                .map(|(claim, finding)| claim_json(claim, finding))
                .collect(),
            Here::Not(_) | Here::Tabled { .. } => Vec::new(),
        };
        let mut document = described(experiment);
        document["verdict"] = judged.verdict.name().into();
        document["held"] = count.held.into();
        document["measured"] = count.measured.into();
        document["reasons"] = told(&judged.reasons).into();
        document["claims"] = claims.into();
        document
    };
    output::json(&experiments.iter().map(one).collect())
}

fn claim_json(
    Claim { says, whose, paper: (least, greatest), is_timed, .. }: &Claim,
    finding: Option<Finding>,
) -> Value {
    let mut claim = json!({"says": says, "whose": whose.name(), "paper_least": least, "paper_greatest": greatest, "timed": is_timed});
    if let Some(Finding { ours, ratio, holds, why, .. }) = finding {
        claim["ours"] = ours.into();
        claim["ratio"] = ratio.into();
        claim["holds"] = holds.into();
        claim["why"] = why.into();
    }
    claim
}
