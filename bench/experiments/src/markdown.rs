//! Tables of records for Markdown documents.

use std::fmt::Write;

use anyhow::Result;
use springbloom_console::bad_input;
use springbloom_records::{Record, distinct};

use crate::catalogue;
use crate::experiment::{Experiment, Measurement, Subject};
use crate::reason::{Reason, told};
use crate::record_store::{RecordStore, commits};
use crate::tables::{Table, shown};
use crate::verdict::judge;

/// The name of the table of all verdicts.
const VERDICTS: &str = "verdicts";

/// The table that `id` names, with a line for how it was measured; none if it has no records.
pub(crate) fn table(id: &str, store: &RecordStore) -> Result<Option<String>> {
    if id == VERDICTS {
        return verdicts(store).map(Some);
    }
    let experiments = catalogue::named(&[id.to_owned()])?;
    let Some(Experiment { measurement: Measurement::Table { runs, layout }, .. }) = experiments.first()
    else {
        return Err(bad_input(format!(
            "{id} has no table: {VERDICTS} has a line for it, and `springbloom reproduce --no-run {id}` its figures"
        )));
    };
    let records: Vec<&Record> = runs.iter().filter_map(|run| store.get(&run.name)).collect();
    let table = || format!("{}\n{}\n", Table::of(layout, runs, store), how(&records));
    Ok((!records.is_empty()).then(table))
}

/// The table of all verdicts. Each kind of reason is written once, below the table, and rows have its number.
fn verdicts(store: &RecordStore) -> Result<String> {
    let mut text =
        "| experiment | what | as published | Springbloom | why |\n|---|---|---|---|---|\n".to_owned();
    let mut reasons: Vec<Reason> = Vec::new();
    for Experiment { id, shows, measurement, .. } in catalogue::experiments() {
        let Measurement::Claims { claims, .. } = measurement else { continue };
        let of_claims = judge(claims, store);
        let of = |subject| of_claims.count_of(subject).map(|count| count.to_string());
        let setting = || of(Subject::Setting).map(|count| format!("setting: {count}"));
        let published = of(Subject::Published).or_else(setting).unwrap_or_else(|| "-".to_owned());
        let ours = of(Subject::Springbloom).unwrap_or_else(|| "-".to_owned());
        let why = of_claims.reasons;
        reasons.extend(why.clone());
        let kinds = distinct(reasons.iter().map(|reason| reason.kind().0));
        let number =
            |reason: &Reason| 1 + kinds.iter().position(|kind| *kind == reason.kind().0).unwrap_or(0);
        let why: Vec<_> = distinct(why.iter().map(number)).iter().map(usize::to_string).collect();
        writeln!(text, "| `{id}` | {shows} | {published} | {ours} | {} |", why.join(", "))?;
    }
    text.push('\n');
    for (at, reason) in (1..).zip(told(&reasons)) {
        writeln!(text, "{at}. {reason}.")?;
    }
    Ok(text)
}

/// When, at which commits and under which other load.
fn how(records: &[&Record]) -> String {
    let date =
        records.iter().map(|record| record.date.get(..10).unwrap_or_default()).max().unwrap_or_default();
    let quiet = if records.iter().all(|record| record.was_quiet()) { "" } else { ", on a busy machine" };
    format!("Measured {} at {}{quiet}.", shown(date), shown(&commits(records.iter().copied())))
}

#[cfg(test)]
mod tests {
    use springbloom_records::{Clock, Figure, Unit, labels};

    use super::*;

    fn store() -> RecordStore {
        let mut store = RecordStore::default();
        let of = || labels([("config", "elastic:4".to_owned()), ("threads", "1".to_owned())]);
        let figures = vec![
            Figure::new("wasted_reads_per_get", of(), 0.05, Unit::PerLookup).between(0.04, 0.06),
            Figure::new("filter_bytes", of(), 2048.0, Unit::Bytes),
        ];
        let record =
            Clock::start().finish(vec!["springbloom".to_owned()], 1, &(), figures).expect("a record");
        store.put("memory", record);
        store
    }

    #[test]
    fn every_comparison_with_a_paper_has_a_line_among_the_verdicts() {
        let text = table(VERDICTS, &store()).expect("verdicts").expect("always there");
        for Experiment { id, measurement, .. } in catalogue::experiments() {
            let is_judged = matches!(measurement, Measurement::Claims { .. });
            assert_eq!(text.contains(&format!("| `{id}` |")), is_judged, "{id}");
        }
        let (rows, reasons) = text.split_once("\n\n").expect("reasons below the table");
        assert!(rows.lines().all(|line| line.matches('|').count() == 6), "{rows}");
        assert!(reasons.lines().zip(1..).all(|(line, at)| line.starts_with(&format!("{at}. "))), "{reasons}");
    }

    #[test]
    fn what_was_measured_has_a_table() {
        let measured = table("memory", &store()).expect("known").expect("there is a record");
        let row = "| **Springbloom**, 4 bits (`elastic:4`) | 2 KiB | 0.050 (0.040-0.060) |";
        assert!(measured.contains(row), "{measured}");
        assert_eq!(table("popularity", &store()).expect("known"), None);
        let error = table("atc19-intro", &store()).expect_err("figures with those of a paper").to_string();
        assert!(error.contains("reproduce --no-run atc19-intro"), "{error}");
        assert!(table("atc19-fig99", &store()).is_err());
    }
}
