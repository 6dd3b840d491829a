//! The records of runs, in a folder: `NAME.SIZE.json` for each run, and others that people put there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use springbloom_console::distinct;
use springbloom_records::Record;

use crate::run::{Run, Size};

/// Records of one size, by the name of their run.
#[derive(Debug, Default)]
pub(crate) struct Lab {
    records: BTreeMap<String, Record>,
    /// Runs whose record is a full one.
    full: BTreeSet<String>,
}

/// The file of a run's record.
pub(crate) fn path_of(folder: &Path, run: &Run, size: Size) -> PathBuf {
    folder.join(format!("{}.{}.json", run.name, size.name()))
}

impl Lab {
    /// The records of a folder: those of `size`, or of each run the full one where there is one and else the quick one; and those whose
    /// name says no size.
    pub(crate) fn read(folder: &Path, size: Option<Size>) -> Result<Self> {
        let sizes = size.map_or_else(|| vec![Size::Quick, Size::Full], |size| vec![size]);
        let mut lab = Self::default();
        let mut files = Vec::new();
        let entries = fs::read_dir(folder)
            .with_context(|| format!("cannot read the folder of records {}", folder.display()))?;
        for entry in entries {
            let path = entry.with_context(|| format!("cannot read {}", folder.display()))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Some(name) = name.strip_suffix(".json") else { continue };
            let of_size = |size: &Size| Some((Some(*size), name.strip_suffix(&format!(".{}", size.name()))?));
            let (of, run) = [Size::Quick, Size::Full].iter().find_map(of_size).unwrap_or((None, name));
            if of.is_none_or(|of| sizes.contains(&of)) {
                files.push((of == Some(Size::Full), run.to_owned(), path));
            }
        }
        // Full records come last and stay.
        files.sort();
        for (is_full, run, path) in files {
            if is_full {
                lab.full.insert(run.clone());
            }
            lab.records.extend(Record::read(&path)?.map(|record| (run, record)));
        }
        Ok(lab)
    }

    /// Adds or replaces the record of a run.
    pub(crate) fn put(&mut self, run: &str, record: Record) {
        self.records.insert(run.to_owned(), record);
    }

    pub(crate) fn get(&self, run: &str) -> Option<&Record> {
        self.records.get(run)
    }

    /// Whether the record of a run is a full one.
    pub(crate) fn is_full(&self, run: &str) -> bool {
        self.full.contains(run)
    }

    /// All records with the names of their runs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Record)> {
        self.records.iter().map(|(name, record)| (name.as_str(), record))
    }

    /// The only figure of a run of this name and these labels.
    pub(crate) fn value(&self, run: &str, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        Some(self.get(run)?.figure(name, labels)?.value)
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

    #[test]
    fn records_of_other_sizes_are_left_out() {
        let folder = tempfile::tempdir().expect("folder");
        let save = |name: &str, value: f64| {
            let figure = Figure::new("reads", labels([]), value, Unit::Count);
            let record =
                Clock::start().finish(vec![name.to_owned()], 1, &(), vec![figure]).expect("a record");
            record.save(&folder.path().join(name)).expect("save");
        };
        save("one.quick.json", 1.0);
        save("one.full.json", 2.0);
        save("mine.json", 3.0);
        fs::write(folder.path().join("notes.txt"), "no record").expect("write");
        let value = |size, run| Lab::read(folder.path(), size).expect("read").value(run, "reads", &[]);
        save("two.quick.json", 4.0);
        assert_eq!(
            [
                value(Some(Size::Quick), "one"),
                value(Some(Size::Full), "one"),
                value(Some(Size::Full), "mine")
            ],
            [Some(1.0), Some(2.0), Some(3.0)]
        );
        assert_eq!(value(Some(Size::Full), "two"), None);
        assert_eq!(
            [value(None, "one"), value(None, "two")],
            [Some(2.0), Some(4.0)],
            "the larger one of each run"
        );
        let lab = Lab::read(folder.path(), None).expect("read");
        assert_eq!(["one", "two", "mine"].map(|run| lab.is_full(run)), [true, false, false]);
        fs::write(folder.path().join("bad.json"), "{}").expect("write");
        let error = Lab::read(folder.path(), None).expect_err("no record");
        assert!(format!("{error:#}").contains("bad.json"), "{error:#}");
    }
}
