//! From the entries of files to experiments.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use springbloom_records::distinct;

use super::file::{ClaimEntry, ExperimentEntry, File, RunEntry};
use super::template::{Row, combinations, filled, flags};
use crate::experiment::{Claim, Experiment, Format, Measurement, Subject, Tolerance};
use crate::formula::Formula;
use crate::record_store::RecordStore;
use crate::run::{Program, Run, run_name};
use crate::tables::Layout;

/// All runs by name, and the names of each group.
#[derive(Default)]
struct Runs {
    by_name: BTreeMap<String, Run>,
    groups: BTreeMap<String, Vec<String>>,
}

/// The experiments of `files`, which are known by stems, over what they have in `common`.
///
/// # Errors
/// A file that is none, names that nothing stands for, runs that are there twice, are missing, or belong to no experiment.
pub(super) fn experiments(common: &str, files: &[(&str, &str)]) -> Result<Vec<Experiment>> {
    let mut parsed = Vec::new();
    for &(stem, text) in files {
        let mut file: File = toml::from_str(text).with_context(|| format!("catalogue/{stem}.toml"))?;
        let File { text, rows, run_kinds, claim_kinds, .. } =
            toml::from_str(common).context("catalogue/common.toml")?;
        file.text = text.into_iter().chain(file.text).collect();
        file.rows = rows.into_iter().chain(file.rows).collect();
        file.run_kinds = run_kinds.into_iter().chain(file.run_kinds).collect();
        file.claim_kinds = claim_kinds.into_iter().chain(file.claim_kinds).collect();
        parsed.push((stem, file));
    }
    let mut runs = Runs::default();
    for (stem, file) in &parsed {
        for entry in &file.run {
            runs.add(stem, file, entry)
                .with_context(|| format!("run {} of catalogue/{stem}.toml", entry.name))?;
        }
    }
    let mut experiments = Vec::new();
    for (stem, file) in &parsed {
        for entry in &file.experiment {
            let of_entry = || format!("experiment {} of catalogue/{stem}.toml", entry.id);
            for row in combinations(&entry.each, &file.rows, &file.text).with_context(of_entry)? {
                experiments.push(experiment(file, entry, &row, &runs).with_context(of_entry)?);
            }
        }
    }
    let used = distinct(experiments.iter().flat_map(Experiment::runs).map(|run| &run.name));
    match runs.by_name.keys().find(|name| !used.contains(name)) {
        Some(unused) => bail!("no experiment uses the run {unused}"),
        None => Ok(experiments),
    }
}

impl Runs {
    fn add(&mut self, stem: &str, file: &File, entry: &RunEntry) -> Result<()> {
        let none = RunEntry::default();
        let kind = match &entry.kind {
            Some(kind) => file.run_kinds.get(kind).with_context(|| format!("there is no kind {kind}"))?,
            None => &none,
        };
        for row in combinations(&entry.each, &file.rows, &file.text)? {
            let row: Row = row.into_iter().chain(entry.with.clone()).collect();
            let fill = |text: &str| filled(text, &row);
            let program = match (&entry.bench, entry.databases.as_ref().or(kind.databases.as_ref())) {
                (Some(bench), _) => {
                    let (folder, bench) =
                        bench.split_once(' ').context("expected a folder and a benchmark")?;
                    Program::Bench { folder: folder.to_owned(), bench: bench.to_owned() }
                }
                (None, databases) => {
                    Program::Springbloom { databases: databases.map(|name| fill(name)).transpose()? }
                }
            };
            let of_size = |kind: &str, own: &str| Ok::<_, anyhow::Error>(flags(&fill(kind)?, &fill(own)?));
            let run = Run::new(
                &fill(&entry.name)?,
                stem,
                program,
                &fill(&entry.command)?,
                [&of_size(&kind.quick, &entry.quick)?, &of_size(&kind.full, &entry.full)?],
                entry
                    .key_bytes
                    .as_ref()
                    .map(|bytes| Ok::<_, anyhow::Error>(fill(bytes)?.parse()?))
                    .transpose()?,
            );
            if !entry.group.is_empty() {
                self.groups.entry(entry.group.clone()).or_default().push(run.name.clone());
            }
            let name = run.name.clone();
            ensure!(self.by_name.insert(name.clone(), run).is_none(), "{name} is there twice");
        }
        Ok(())
    }

    fn get(&self, name: &str) -> Result<Run> {
        self.by_name.get(name).cloned().with_context(|| format!("there is no run {name}"))
    }

    /// The runs that `names` name, alone or as a group.
    fn named<'a>(&self, names: impl Iterator<Item = &'a String>) -> Result<Vec<Run>> {
        let mut runs = Vec::new();
        for name in names {
            match self.groups.get(name) {
                Some(group) => runs.extend(self.named(group.iter())?),
                None => runs.push(self.get(&run_name(name.as_str()))?),
            }
        }
        Ok(runs)
    }
}

fn experiment(file: &File, entry: &ExperimentEntry, row: &Row, runs: &Runs) -> Result<Experiment> {
    let measurement = if let Some(why) = &entry.not {
        Measurement::Missing(why.clone())
    } else if entry.claim.is_empty() {
        let (labels, lines): (Vec<_>, Vec<_>) = entry.lines.iter().cloned().unzip();
        let columns = entry.columns.iter().map(|column| filled(column, row));
        let layout = match entry.figures.is_empty() {
            true => Layout::Filters,
            false => Layout::Runs {
                labels,
                figures: entry.figures.clone(),
                columns: columns.collect::<Result<_>>()?,
            },
        };
        Measurement::Table { runs: runs.named(entry.runs.iter().chain(&lines))?, layout }
    } else {
        let mut claims = Vec::new();
        for entry in &entry.claim {
            for row in combinations(&entry.each, &file.rows, row)? {
                claims.push(claim(file, entry, row).with_context(|| format!("the claim {:?}", entry.says))?);
            }
        }
        let names = distinct(claims.iter().flat_map(Claim::runs));
        Measurement::Claims {
            runs: names.into_iter().map(|name| runs.get(name)).collect::<Result<_>>()?,
            claims,
        }
    };
    let fill = |text: &str| filled(text, row);
    Ok(Experiment {
        id: fill(&entry.id)?,
        paper: file.paper.clone(),
        place: fill(&entry.place)?,
        shows: fill(&entry.shows)?,
        measurement,
    })
}

fn claim(file: &File, entry: &ClaimEntry, row: Row) -> Result<Claim> {
    let none = ClaimEntry::default();
    let kind = match &entry.kind {
        Some(kind) => file.claim_kinds.get(kind).with_context(|| format!("there is no kind {kind}"))?,
        None => &none,
    };
    let row: Row = row.into_iter().chain(entry.with.clone()).collect();
    let fill = |own: &Option<String>, kind: &Option<String>, usual: &str| {
        filled(own.as_deref().or(kind.as_deref()).unwrap_or(usual), &row)
    };
    let (run, of) = (filled(&entry.run, &row)?, filled(&entry.of, &row)?);
    let formula = |text: &str| Formula::parse(text, &run, &of);
    let some = |text: String| (!text.is_empty()).then(|| formula(&text)).transpose();
    let subject = match fill(&entry.subject, &None, "{subject}")?.as_str() {
        "published" => Subject::Published,
        "springbloom" => Subject::Springbloom,
        "setting" => Subject::Setting,
        other => bail!("expected published, springbloom or setting, got {other:?}"),
    };
    let format = fill(&entry.format, &kind.format, "times")?;
    let tolerance = fill(&entry.tolerance, &kind.tolerance, "at least")?;
    let paper = filled(&entry.paper, &row)?;
    let (least, greatest) = paper.split_once("..").unwrap_or((&paper, &paper));
    let number = |text: &str| formula(text)?.value(&RecordStore::default()).context("expected a number");
    Ok(Claim {
        says: filled(&entry.says, &row)?,
        subject,
        paper: (number(least)?, number(greatest)?),
        format: match (format.as_str(), format.strip_prefix("number")) {
            ("times", _) => Format::Times,
            ("percent", _) => Format::Percent,
            (_, Some(unit)) => Format::Number(unit.trim().to_owned()),
            _ => bail!("expected times, percent or number, got {format:?}"),
        },
        tolerance: match (tolerance.as_str(), tolerance.strip_prefix("within ")) {
            ("at least", _) => Tolerance::AtLeast,
            ("at most", _) => Tolerance::AtMost,
            (_, Some(factor)) => Tolerance::Within(factor.parse()?),
            _ => bail!("expected at least, at most or within a factor, got {tolerance:?}"),
        },
        is_timed: entry.timed.or(kind.timed).unwrap_or(false),
        ours: formula(&fill(&entry.ours, &kind.ours, "")?)?,
        limit: some(fill(&entry.limit, &kind.limit, "")?)?,
        counted: some(fill(&entry.counted, &kind.counted, "")?)?,
        otherwise: fill(&entry.otherwise, &kind.otherwise, "")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_in_files_are_told() {
        let error = |text: &str| {
            let text = format!("[[run]]\nname = \"a\"\ncommand = \"simulate\"\n{text}");
            format!("{:#}", experiments("", &[("x", &text)]).err().expect(&text))
        };
        let experiment = "[[experiment]]\nid = \"e\"\n";
        for (text, message) in [
            ("colour = 1", "catalogue/x.toml"),
            ("", "no experiment uses the run a"),
            ("quick = \"{b}\"", "nothing stands for {b}"),
            ("[[run]]\nname = \"a\"", "a is there twice"),
            (&format!("{experiment}runs = [\"b\"]"), "there is no run b"),
            (
                &format!("{experiment}[[experiment.claim]]\nsays = \"it\"\nsubject = \"x\"\nrun = \"a\""),
                "expected published",
            ),
        ] {
            assert!(error(text).contains(message), "{text}: {}", error(text));
        }
    }
}
