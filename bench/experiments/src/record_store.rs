//! The records of runs, in a folder: a line for each run in `FILE.jsonl` and, for quick runs, in `FILE.quick.jsonl`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context, Result};
use springbloom_records::{Record, distinct, require_regular, write_whole};

use crate::former_names::with_names_of_today;
use crate::run::{Run, Size};

/// Records of one size, by the name of their run.
#[derive(Debug, Default)]
pub(crate) struct RecordStore {
    records: BTreeMap<String, Record>,
}

const QUICK: &str = ".quick";

/// The file that has a run's record.
fn path_of(folder: &Path, run: &Run, size: Size) -> PathBuf {
    folder.join(format!("{}{}.jsonl", run.file, size.pick(QUICK, "")))
}

/// The records in the lines of a file.
fn read_lines(path: &Path) -> Result<Vec<(String, Record)>> {
    require_regular(path, "a file of records")?;
    let text = fs::read_to_string(path).or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(String::new()),
        _ => Err(error),
    });
    text.map_err(anyhow::Error::from)
        .and_then(|text| Record::parse_lines(&text))
        .with_context(|| format!("cannot read {}", path.display()))
}

/// Puts the record of a run into its file, in place of the last one.
pub(crate) fn save(folder: &Path, run: &Run, size: Size, record: &Record) -> Result<()> {
    let path = path_of(folder, run, size);
    let mut records: BTreeMap<_, _> = read_lines(&path)?.into_iter().collect();
    records.insert(run.name.clone(), record.clone());
    write_lines(&path, &records)
}

fn write_lines(path: &Path, records: &BTreeMap<String, Record>) -> Result<()> {
    let lines = records.iter().map(|(run, record)| record.line(run)).collect::<Result<String>>()?;
    write_whole(path, lines.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes the records of `runs` in the present form, with the figures of each run alone.
pub(crate) fn tidy(
    folder: &Path,
    runs: &[&Run],
    size: Size,
    figures_of: impl Fn(&Run) -> Vec<&'static str>,
) -> Result<()> {
    for path in distinct(runs.iter().map(|run| path_of(folder, run, size))) {
        let before: BTreeMap<_, _> = read_lines(&path)?.into_iter().collect();
        let compact = |(name, record): (&String, &Record)| {
            let run = runs.iter().find(|run| run.name == *name);
            let record = run.map_or(record.clone(), |run| record.clone().compact(&figures_of(run)));
            (name.clone(), record)
        };
        if !before.is_empty() {
            write_lines(&path, &before.iter().map(compact).collect())?;
        }
    }
    Ok(())
}

impl RecordStore {
    /// The records of `size` in a folder.
    pub(crate) fn read(folder: &Path, size: Size) -> Result<Self> {
        let mut store = Self::default();
        let entries = fs::read_dir(folder)
            .with_context(|| format!("cannot read the folder of records {}", folder.display()))?;
        for entry in entries {
            let path = entry.with_context(|| format!("cannot read {}", folder.display()))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let stem = name.strip_suffix(".jsonl");
            if stem.is_some_and(|stem| stem.ends_with(QUICK) == (size == Size::Quick)) {
                let records = read_lines(&path)?.into_iter();
                store.records.extend(records.map(|(run, record)| (run, with_names_of_today(record))));
            }
        }
        Ok(store)
    }

    /// Adds or replaces the record of a run.
    pub(crate) fn put(&mut self, run: &str, record: Record) {
        self.records.insert(run.to_owned(), record);
    }

    pub(crate) fn get(&self, run: &str) -> Option<&Record> {
        self.records.get(run)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
}

/// The commits that records were measured at, each once, as `1234abc, 5678def`.
pub(crate) fn commits<'a>(records: impl Iterator<Item = &'a Record>) -> String {
    let mut commits = distinct(records.map(|record| record.build.commit_name()));
    commits.sort();
    commits.join(", ")
}

#[cfg(test)]
mod tests {
    use springbloom_records::{Clock, Figure, Unit, labels};

    use super::*;
    use crate::run::Program;

    impl RecordStore {
        fn value(&self, run: &str, name: &str) -> Option<f64> {
            Some(self.get(run)?.figure(name, &[])?.value)
        }
    }

    #[test]
    fn records_of_other_sizes_are_left_out() {
        let folder = tempfile::tempdir().expect("folder");
        let record = |value| {
            let figure = Figure::new("reads", labels([]), value, Unit::Count);
            Clock::start().finish(Vec::new(), 1, &(), vec![figure]).expect("a record")
        };
        let keep = |name: &str, size, value| {
            let run = Run::new(name, "some", Program::Springbloom { databases: None }, "", ["", ""], None);
            save(folder.path(), &run, size, &record(value)).expect("save");
        };
        keep("one", Size::Quick, 1.0);
        keep("one", Size::Full, 9.0);
        keep("one", Size::Full, 2.0);
        fs::write(folder.path().join("notes.txt"), "no record").expect("write");
        let value = |size, run| RecordStore::read(folder.path(), size).expect("read").value(run, "reads");
        keep("two", Size::Quick, 4.0);
        assert_eq!([value(Size::Quick, "one"), value(Size::Full, "one")], [Some(1.0), Some(2.0)]);
        assert_eq!([value(Size::Quick, "two"), value(Size::Full, "two")], [Some(4.0), None]);
        fs::write(folder.path().join("bad.jsonl"), "{}").expect("write");
        let error = RecordStore::read(folder.path(), Size::Full).expect_err("no record");
        assert!(format!("{error:#}").contains("bad.jsonl"), "{error:#}");
    }
}
