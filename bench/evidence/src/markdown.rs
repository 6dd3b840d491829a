//! Tables of records for Markdown documents.

use std::fmt::Write;

use anyhow::{Context, Result};
use springbloom_console::bad_input;
use springbloom_console::sizes::Size as Bytes;
use springbloom_records::Record;

use crate::catalogue;
use crate::experiment::{Claim, Experiment, Here, Whose};
use crate::lab::Lab;
use crate::verdict::{judge, rows};

/// The name of the table of all verdicts.
const VERDICTS: &str = "verdicts";
const BEGIN: &str = "<!-- record: ";
const CLOSE: &str = " -->";
const END: &str = "<!-- end of record -->";

/// The table that `id` names, with a line for how it was measured.
pub(crate) fn table(id: &str, lab: &Lab) -> Result<String> {
    if id == VERDICTS {
        return verdicts(lab);
    }
    let experiments = catalogue::named(&[id.to_owned()])?;
    let experiment = experiments.first().with_context(|| format!("no experiment {id}"))?;
    match &experiment.here {
        Here::Not(why) => Ok(format!("Not measured here: {why}\n")),
        Here::Measured { runs, claims } => {
            let records: Vec<&Record> = runs.iter().filter_map(|run| lab.get(&run.name)).collect();
            if records.is_empty() {
                return Err(bad_input(format!("{id} has no records: run `springbloom reproduce {id}`")));
            }
            let table = match claims.as_slice() {
                [] if id == "equal-memory" => one_cache(&records)?,
                [] => figures(&records)?,
                _ => claims_of(experiment, lab)?,
            };
            Ok(format!("{table}\n{}\n", how(&records)))
        }
    }
}

/// `text` with all tables written anew.
///
/// # Errors
/// A table without an end, an unknown id, missing records.
pub(crate) fn update(text: &str, lab: &Lab) -> Result<String> {
    let (mut updated, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let missing = |what: &str, id: &str| bad_input(format!("{BEGIN}{id}: expected {what} after it"));
        let (id, old) = after.split_once(CLOSE).ok_or_else(|| missing(CLOSE, ""))?;
        let (_, behind) = old.split_once(END).ok_or_else(|| missing(END, id))?;
        write!(updated, "{before}{BEGIN}{id}{CLOSE}\n{}{END}", table(id, lab)?)?;
        rest = behind;
    }
    Ok(updated + rest)
}

fn verdicts(lab: &Lab) -> Result<String> {
    let mut text = "| experiment | paper | what | as published | Springbloom | verdict and why |\n|---|---|---|---|---|---|\n".to_owned();
    for experiment in catalogue::experiments().iter().filter(|experiment| has_claims(experiment)) {
        let judged = judge(experiment, lab);
        let [published, ours] = [Whose::Published, Whose::Springbloom]
            .map(|whose| judged.count_of(whose).map_or_else(|| "-".to_owned(), |count| count.to_string()));
        let why = match &experiment.here {
            Here::Not(why) => (*why).to_owned(),
            Here::Measured { .. } => judged.reasons.join("; "),
        };
        let why = if why.is_empty() { why } else { format!(": {why}") };
        let Experiment { id, paper, place, shows, .. } = experiment;
        writeln!(
            text,
            "| `{id}` | {}, {place} | {shows} | {published} | {ours} | **{}**{why} |",
            paper.title(),
            judged.text()
        )?;
    }
    Ok(text)
}

fn has_claims(experiment: &Experiment) -> bool {
    !matches!(&experiment.here, Here::Measured { claims, .. } if claims.is_empty())
}

fn claims_of(experiment: &Experiment, lab: &Lab) -> Result<String> {
    let Here::Measured { claims, .. } = &experiment.here else { return Ok(String::new()) };
    let judged = judge(experiment, lab);
    let columns: Vec<_> = judged.counts.iter().map(|(whose, _)| *whose).collect();
    let mut text = "| figure | paper |".to_owned();
    for whose in &columns {
        write!(text, " {}, here |", whose.name())?;
    }
    writeln!(text, "\n|---|---|{}", "---|".repeat(columns.len()))?;
    for row in rows(claims, &judged.findings) {
        let Claim { says, is_timed, shown, .. } = row.claim;
        let timed = if *is_timed { ", by times" } else { "" };
        write!(text, "| {says}{timed} | {} |", row.claim.paper_text())?;
        for whose in &columns {
            match row.cell(*whose) {
                None => write!(text, " |")?,
                Some(None) => write!(text, " not measured |")?,
                Some(Some(finding)) => {
                    let verdict = if finding.holds { "holds" } else { "**does not hold**" };
                    write!(text, " {}: {verdict} |", shown.text(finding.ours))?;
                }
            }
        }
        writeln!(text)?;
    }
    for reason in &judged.reasons {
        writeln!(text, "\nWhy not: {reason}.")?;
    }
    Ok(text)
}

/// Memory and reads of each filter.
fn figures(records: &[&Record]) -> Result<String> {
    let mut text = "| filter | memory | wasted reads per lookup |\n|---|---|---|\n".to_owned();
    for record in records {
        for wasted in record.figures.iter().filter(|figure| figure.name == "wasted_reads_per_get") {
            let labels: Vec<_> =
                wasted.of.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let bytes = record
                .figure("filter_bytes", &labels)
                .map(|figure| Bytes { bytes: figure.value as u64 }.to_string());
            let bits = wasted.of.get("bits_per_key").map(|bits| format!("{bits} bits per key"));
            let memory = bytes.or(bits).unwrap_or_else(|| "-".to_owned());
            let spread = match (wasted.least, wasted.most) {
                (Some(least), Some(most)) if least < most => format!(" ({least:.4}-{most:.4})"),
                _ => String::new(),
            };
            let filter = wasted.of.get("config").map_or("-", String::as_str);
            writeln!(text, "| `{filter}` | {memory} | {:.4}{spread} |", wasted.value)?;
        }
    }
    Ok(text)
}

/// A line for each block cache that pays for all memory: block reads per lookup of both filters, and the ratio of their lookups.
fn one_cache(records: &[&Record]) -> Result<String> {
    let mut text = "| cache | lookups | partitioned:10: data + index + filter reads per lookup | \
         elastic:8: the same | lookups / partitioned:10 |\n\
                    |---|---|---|---|---|\n"
        .to_owned();
    let kinds = ["data_reads_per_get", "index_reads_per_get", "filter_reads_per_get"];
    for record in records {
        let of =
            |config: &str, name: &str| record.figure(name, &[("config", config)]).map(|figure| figure.value);
        let reads = |config: &str| {
            let reads =
                kinds.map(|kind| of(config, kind).map_or("-".to_owned(), |reads| format!("{reads:.3}")));
            reads.join(" + ")
        };
        let cache = record.settings.get("block_cache").context("a record of a run with a block cache")?;
        let bytes = cache["bytes"].as_u64().unwrap_or_default();
        let kind = cache["kind"].as_str().unwrap_or("-");
        let law = record.settings.get("distribution").and_then(|law| law.as_str()).unwrap_or("-");
        let ratio = of("elastic:8", "lookups_per_s").zip(of("partitioned:10", "lookups_per_s"));
        let ratio = ratio.map_or("-".to_owned(), |(ours, theirs)| format!("{:.2}", ours / theirs));
        let (cache, stock, ours) = (Bytes { bytes }, reads("partitioned:10"), reads("elastic:8"));
        writeln!(text, "| {kind}, {cache} | {law} | {stock} | {ours} | {ratio} |")?;
    }
    Ok(text)
}

/// When, at which commits and beside what other work.
fn how(records: &[&Record]) -> String {
    let mut commits: Vec<_> = records.iter().map(|record| record.build.commit_name()).collect();
    commits.sort();
    commits.dedup();
    let date =
        records.iter().map(|record| record.date.get(..10).unwrap_or_default()).max().unwrap_or_default();
    let quiet = if records.iter().all(|record| record.was_quiet()) {
        ""
    } else {
        "; other work ran beside it: trust counts, not times"
    };
    format!("Measured {date} at {}{quiet}.", commits.join(", "))
}

#[cfg(test)]
mod tests {
    use springbloom_records::{Clock, Figure, Unit, labels};

    use super::*;

    fn lab() -> Lab {
        let mut lab = Lab::default();
        let of = || labels([("config", "elastic:4".to_owned()), ("threads", "1".to_owned())]);
        let figures = vec![
            Figure::new("wasted_reads_per_get", of(), 0.05, Unit::PerLookup).between(0.04, 0.06),
            Figure::new("filter_bytes", of(), 2048.0, Unit::Bytes),
        ];
        let record =
            Clock::start().finish(vec!["springbloom".to_owned()], 1, &(), figures).expect("a record");
        lab.put("memory", record);
        lab
    }

    #[test]
    fn tables_of_documents_are_written_anew_and_stay() {
        let old = "# Title\n\n<!-- record: memory -->\n| old |\n<!-- end of record -->\n\nText.\n";
        let lab = lab();
        let new = update(old, &lab).expect("update");
        assert!(new.contains("| `elastic:4` | 2 KiB | 0.0500 (0.0400-0.0600) |"), "{new}");
        assert!(!new.contains("old"), "{new}");
        assert!(new.starts_with("# Title\n\n<!-- record: memory -->\n| filter"), "{new}");
        assert!(new.ends_with(".\n<!-- end of record -->\n\nText.\n"), "{new}");
        assert_eq!(update(&new, &lab).expect("again"), new);
        let error = update("<!-- record: memory -->\n| old |\n", &lab).expect_err("no end").to_string();
        assert!(error.contains("memory") && error.contains(END), "{error}");
    }

    #[test]
    fn every_experiment_has_a_line_among_the_verdicts() {
        let text = table(VERDICTS, &lab()).expect("verdicts");
        for experiment in catalogue::experiments().iter().filter(|experiment| has_claims(experiment)) {
            assert!(text.contains(&format!("| `{}` |", experiment.id)), "{}", experiment.id);
        }
        assert!(text.lines().all(|line| line.matches('|').count() == 7), "{text}");
    }

    #[test]
    fn what_was_not_measured_is_an_error_that_says_what_to_do() {
        let error = table("atc19-intro", &lab()).expect_err("no record").to_string();
        assert!(error.contains("springbloom reproduce atc19-intro"), "{error}");
    }
}
