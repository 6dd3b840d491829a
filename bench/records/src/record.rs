//! The record of one run.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::{fs, io};

use anyhow::{Context, Result, anyhow};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use springbloom_console::bad_input;

use crate::files::{require_regular, write_whole};
use crate::{Build, Figure, Labels, Machine, Unit};

/// The form of records that this release writes and reads.
pub const FORMAT: u32 = 1;

/// What one run of one program measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`FORMAT`].
    pub format: u32,
    /// The command line that repeats it, with the program first.
    pub command: Vec<String>,
    /// The sources of the program.
    pub build: Build,
    /// Where it ran.
    pub machine: Machine,
    /// The seed of all random numbers.
    pub seed: u64,
    /// When it began, in UTC.
    pub date: String,
    /// How long it took.
    pub duration_s: f64,
    /// Processors that other programs kept busy meanwhile, on average. Times that were measured under much of it are not trusted.
    #[serde(default)]
    pub other_work: Option<f64>,
    /// Settings that follow from the command line and from defaults.
    pub settings: BTreeMap<String, Value>,
    /// What was measured.
    pub figures: Vec<Figure>,
}

const EXPECTED: &str = "expected what --json of compare or simulate prints; move other files away, and measure damaged ones again";

/// Figures of the same labels.
#[derive(Serialize, Deserialize)]
struct Group {
    of: Labels,
    /// The unit, and the value or the value with the least and the greatest.
    figures: BTreeMap<String, (Unit, Vec<f64>)>,
}

impl Group {
    /// In the order in which labels come first.
    fn all(figures: &[Figure]) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for Figure { name, of, value, unit, least, most } in figures {
            let at = groups.iter().position(|group| group.of == *of).unwrap_or_else(|| {
                groups.push(Self { of: of.clone(), figures: BTreeMap::new() });
                groups.len() - 1
            });
            let numbers = [Some(*value), *least, *most].into_iter().flatten().collect();
            groups[at].figures.insert(name.clone(), (*unit, numbers));
        }
        groups
    }

    fn figures(self) -> impl Iterator<Item = Figure> {
        let Self { of, figures } = self;
        figures.into_iter().filter_map(move |(name, (unit, numbers))| {
            let figure = Figure::new(&name, of.clone(), *numbers.first()?, unit);
            Some(match numbers[..] {
                [_, least, most] => figure.between(least, most),
                _ => figure,
            })
        })
    }
}

/// More work during a measurement distorts its times.
const QUIET_CORES: f64 = 0.1;

impl Record {
    /// Writes it as JSON.
    pub fn write(&self, out: &mut impl Write) -> Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        Ok(writeln!(out)?)
    }

    /// It as one line of a file of records: JSON that begins with the name of its run, and has what figures have in common once.
    pub fn line(&self, run: &str) -> Result<String> {
        let groups = Group::all(&self.figures);
        let record = Self { figures: Vec::new(), ..self.clone() };
        let (run, record) = (serde_json::to_string(run)?, serde_json::to_string(&record)?);
        let record = &record[1..record.len() - 1];
        Ok(format!("{{\"run\":{run},{record},\"groups\":{}}}\n", serde_json::to_string(&groups)?))
    }

    /// The records in the lines of `text`, with the names of their runs.
    pub fn parse_lines(text: &str) -> Result<Vec<(String, Self)>> {
        #[derive(Deserialize)]
        struct Named {
            run: String,
            #[serde(default)]
            groups: Vec<Group>,
        }
        let parse = |(at, line): (usize, &str)| {
            let named = serde_json::from_str(line);
            let named = named.map_err(|error| bad_input(format!("it names no run ({error})")));
            named
                .and_then(|Named { run, groups }| {
                    let mut record = Self::parse(line.as_bytes())?;
                    record.figures.extend(groups.into_iter().flat_map(Group::figures));
                    Ok((run, record.with_each_once()?))
                })
                .with_context(|| format!("line {}", at + 1))
        };
        text.lines().enumerate().map(parse).collect()
    }

    /// Writes it to a file, which is whole or not there at any time.
    pub fn save(&self, path: &Path) -> Result<()> {
        let mut text = Vec::new();
        self.write(&mut text)?;
        write_whole(path, &text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Reads the file at `path`; `None` if there is none.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        require_regular(path, "a record")?;
        match fs::read(path) {
            Ok(bytes) => {
                Self::parse(&bytes).with_context(|| format!("cannot read {}", path.display())).map(Some)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// The record in `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let Format { format } = serde_json::from_slice(bytes)
            .map_err(|error| bad_input(format!("this is no record ({error}): {EXPECTED}")))?;
        if format != FORMAT {
            return Err(bad_input(format!(
                "this record has format {format}, expected {FORMAT}: measure again, or read it with the release that wrote it"
            )));
        }
        let record: Self = serde_json::from_slice(bytes)
            .map_err(|error| bad_input(format!("this record is damaged ({error}): {EXPECTED}")))?;
        record.with_each_once()
    }

    fn with_each_once(self) -> Result<Self> {
        let mut names = BTreeSet::new();
        match self.figures.iter().find(|figure| !names.insert((&figure.name, &figure.of))) {
            Some(Figure { name, of, .. }) => Err(bad_input(format!(
                "this record is damaged (the figure {name} of {of:?} is there twice): {EXPECTED}"
            ))),
            None => Ok(self),
        }
    }

    /// The only figure called `name` of all of `labels`.
    pub fn figure(&self, name: &str, labels: &[(&str, &str)]) -> Option<&Figure> {
        let mut found = self.figures.iter().filter(|figure| figure.name == name && figure.is_of(labels));
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }

    /// It with the figures called `names` alone, and no more digits than a measurement has.
    #[must_use]
    pub fn compact(mut self, names: &[&str]) -> Self {
        // What the command and the names of configurations say.
        self.settings.retain(|name, _| !["own_settings", "elastic", "levels"].contains(&name.as_str()));
        self.figures.retain(|figure| names.contains(&figure.name.as_str()));
        for Figure { value, least, most, .. } in &mut self.figures {
            for number in [Some(value), least.as_mut(), most.as_mut()].into_iter().flatten() {
                *number = rounded(*number);
            }
        }
        self
    }

    /// Whether nothing else kept the processors busy.
    pub fn was_quiet(&self) -> bool {
        self.other_work.is_some_and(|cores| cores <= QUIET_CORES)
    }
}

/// To five digits.
fn rounded(number: f64) -> f64 {
    format!("{number:.4e}").parse().unwrap_or(number)
}

/// The fields of a structure.
pub(crate) fn fields(structure: &impl Serialize) -> Result<Map<String, Value>> {
    match serde_json::to_value(structure).context("a structure is JSON")? {
        Value::Object(fields) => Ok(fields),
        Value::Null => Ok(Map::new()),
        other => Err(anyhow!("{other} has no fields")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Clock, labels};

    fn record() -> Record {
        let of = |config: &str| labels([("config", config.to_owned())]);
        let figures = vec![
            Figure::new("wasted", of("a"), 0.25, Unit::PerLookup).between(0.2, 0.3),
            Figure::new("wasted", of("b"), 0.5, Unit::PerLookup),
        ];
        let settings = serde_json::json!({"records": 10});
        Clock::start().finish(vec!["springbloom".to_owned()], 7, &settings, figures).expect("a record")
    }

    #[test]
    fn records_are_read_as_they_are_written() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("one.json");
        assert_eq!(Record::read(&path).expect("no file"), None);
        let written = record();
        written.save(&path).expect("save");
        assert_eq!(Record::read(&path).expect("read"), Some(written));
    }

    #[test]
    fn records_are_lines_that_name_their_runs() {
        let (one, mut other) = (record(), record());
        other.seed = 8;
        let text = [one.line("one").expect("a line"), other.line("a \"b\"").expect("a line")].concat();
        assert_eq!(text.lines().count(), 2, "{text}");
        let expected = [("one".to_owned(), one), ("a \"b\"".to_owned(), other)];
        assert_eq!(Record::parse_lines(&text).expect("records"), expected);
        let error = format!("{:#}", Record::parse_lines(&format!("{text}{{}}\n")).expect_err("no run"));
        assert!(error.starts_with("line 3: it names no run"), "{error}");
    }

    #[test]
    fn fields_that_are_not_known_are_passed_over() {
        let mut text = Vec::new();
        record().write(&mut text).expect("write");
        let mut document: Value = serde_json::from_slice(&text).expect("JSON");
        document["rows"] = serde_json::json!([{"config": "a"}]);
        assert_eq!(
            Record::parse(document.to_string().as_bytes()).expect("a record").figures,
            record().figures
        );
    }

    #[test]
    fn what_is_no_record_is_refused() {
        for (text, message) in [
            ("", "this is no record"),
            ("{\"rows\": []}", "this is no record"),
            ("{\"format\": 2}", "has format 2, expected 1"),
            ("{\"format\": 1}", "this record is damaged"),
        ] {
            let error = Record::parse(text.as_bytes()).expect_err(text).to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn a_compact_record_has_what_is_asked_for_in_five_digits() {
        let mut record = record();
        record.figures[0].value = 0.123_456_789;
        record.figures.push(Figure::new("bytes", labels([]), 1_048_576.0, Unit::Bytes));
        record.figures.push(Figure::new("calls", labels([]), 7.0, Unit::Count));
        let figures = record.compact(&["wasted", "bytes"]).figures;
        let values: Vec<_> = figures.iter().map(|figure| (figure.name.as_str(), figure.value)).collect();
        assert_eq!(values, [("wasted", 0.12346), ("wasted", 0.5), ("bytes", 1_048_600.0)]);
        assert_eq!((figures[0].least, figures[0].most), (Some(0.2), Some(0.3)));
    }

    #[test]
    fn a_figure_that_is_there_twice_is_damage() {
        let mut record = record();
        record.figures.push(record.figures[0].clone());
        let mut text = Vec::new();
        record.write(&mut text).expect("write");
        let error = Record::parse(&text).expect_err("twice").to_string();
        assert!(error.contains("is there twice"), "{error}");
    }

    #[test]
    fn a_figure_is_found_by_its_labels_if_it_is_the_only_one() {
        let record = record();
        assert_eq!(record.figure("wasted", &[("config", "b")]).map(|figure| figure.value), Some(0.5));
        assert_eq!(record.figure("wasted", &[]), None);
        assert_eq!(record.figure("wasted", &[("config", "c")]), None);
    }
}
