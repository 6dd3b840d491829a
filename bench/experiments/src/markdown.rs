//! Tables of records for Markdown documents.

use std::fmt::Write;
use std::ops::Range;

use anyhow::{Context, Result};
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
const BEGIN: &str = "<!-- record:";
const CLOSE: &str = "-->";
const END: &str = "<!-- end of record -->";

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

/// `text` with all tables written again, and the ids of those that stay because they have no records.
///
/// # Errors
/// No table, one without a name or an end, an unknown id.
pub(crate) fn update(text: &str, store: &RecordStore) -> Result<(String, Vec<String>)> {
    if !text.contains(BEGIN) {
        return Err(bad_input(format!(
            "it has no table: expected {BEGIN} ID {CLOSE} before one, and {END} after it"
        )));
    }
    let (mut updated, mut done, mut kept) = (String::new(), 0, Vec::new());
    while let Some(Place { line, id, old }) = Place::next(text, done)? {
        let table = table(id, store).with_context(|| format!("line {line}"))?;
        if let Some(table) = table {
            updated.push_str(&text[done..old.start]);
            updated.push('\n');
            updated.push_str(&table);
        } else {
            kept.push(id.to_owned());
            updated.push_str(&text[done..old.end]);
        }
        done = old.end;
    }
    Ok((updated + &text[done..], kept))
}

/// Where a document has a table.
struct Place<'a> {
    /// That of its marker, from 1.
    line: usize,
    id: &'a str,
    /// What is between its markers.
    old: Range<usize>,
}

impl<'a> Place<'a> {
    /// The first one at `from` or after it.
    fn next(text: &'a str, from: usize) -> Result<Option<Self>> {
        let Some((before, after)) = text[from..].split_once(BEGIN) else { return Ok(None) };
        let line = 1 + text[..from + before.len()].matches('\n').count();
        let refuse = |what: String| bad_input(format!("line {line}: {BEGIN}{what}"));
        let of_line = after.lines().next().unwrap_or_default();
        let (id, _) = of_line
            .split_once(CLOSE)
            .ok_or_else(|| refuse(format!("{of_line}: expected {CLOSE} at its end")))?;
        if id.trim().is_empty() {
            return Err(refuse(format!(
                "{id}{CLOSE} names no table: expected {BEGIN} ID {CLOSE} with an ID that \
                 `springbloom reproduce --list` shows, or {VERDICTS}"
            )));
        }
        let behind = &after[id.len() + CLOSE.len()..];
        let (old, _) = behind
            .split_once(END)
            .filter(|(old, _)| !old.contains(BEGIN))
            .ok_or_else(|| refuse(format!("{id}{CLOSE}: expected {END} after it")))?;
        let start = text.len() - behind.len();
        Ok(Some(Self { line, id: id.trim(), old: start..start + old.len() }))
    }
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
    fn tables_of_documents_are_written_anew_and_stay() {
        let old = "# Title\n\n<!-- record: memory -->\n| old |\n<!-- end of record -->\n\nText.\n";
        let store = store();
        let (new, kept) = update(old, &store).expect("update");
        assert!(kept.is_empty(), "{kept:?}");
        assert!(
            new.contains("| **Springbloom**, 4 bits (`elastic:4`) | 2 KiB | 0.050 (0.040-0.060) |"),
            "{new}"
        );
        assert!(!new.contains("old"), "{new}");
        assert!(new.starts_with("# Title\n\n<!-- record: memory -->\n| filter"), "{new}");
        assert!(new.ends_with(".\n<!-- end of record -->\n\nText.\n"), "{new}");
        assert_eq!(update(&new, &store).expect("again").0, new);
        let other = "<!-- record: popularity -->\n| old |\n<!-- end of record -->\n".to_owned();
        assert_eq!(update(&other, &store).expect("no records"), (other, vec!["popularity".to_owned()]));
        let error =
            update(&format!("{old}\n<!-- record: memory -->\n| old |\n"), &store).expect_err("no end");
        assert_eq!(error.to_string(), format!("line 9: <!-- record: memory -->: expected {END} after it"));
        let error = update("# Title\n", &store).expect_err("no table").to_string();
        assert!(error.contains("it has no table: expected <!-- record: ID -->"), "{error}");
        let swallows = format!("<!-- record: memory -->\n| old |\n\nText.\n\n{old}");
        let error = update(&swallows, &store).expect_err("no end before the next table");
        assert_eq!(error.to_string(), format!("line 1: <!-- record: memory -->: expected {END} after it"));
        let unknown = old.replace("memory", "atc19-fig99");
        let error = format!("{:#}", update(&unknown, &store).expect_err("unknown"));
        assert!(error.starts_with("line 3: there is no experiment"), "{error}");
    }

    #[test]
    fn a_marker_without_a_name_or_a_close_says_what_is_expected() {
        for (marker, message) in [
            (
                "<!-- record: -->",
                "line 2: <!-- record: --> names no table: expected <!-- record: ID --> with an ID",
            ),
            ("<!-- record:-->", "line 2: <!-- record:--> names no table"),
            ("<!-- record: memory", "line 2: <!-- record: memory: expected --> at its end"),
        ] {
            let text = format!("Text.\n{marker}\n| old |\n<!-- end of record -->\n");
            let error = update(&text, &store()).expect_err(marker).to_string();
            assert!(error.starts_with(message), "{error}");
        }
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
    fn what_was_not_measured_has_no_table() {
        assert_eq!(table("popularity", &store()).expect("known"), None);
        let error = table("atc19-intro", &store()).expect_err("figures with those of a paper").to_string();
        assert!(error.contains("reproduce --no-run atc19-intro"), "{error}");
        assert!(table("atc19-fig99", &store()).is_err());
    }
}
