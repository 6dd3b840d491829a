//! The report of `inspect`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use springbloom_console::sizes::Size;
use springbloom_console::{Column, TextTable};
use springbloom_rocksdb::Error;
use springbloom_rocksdb::inspect::{SegmentReport, TableReport, UnitsReport};
use springbloom_rocksdb::listed_tables::ListedTable;

/// What the tables of a database add up to, by column family and level.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    levels: BTreeMap<(String, i32), Level>,
    first_damaged: Option<String>,
}

/// The tables of a level of a column family.
#[derive(Clone, Debug, Default, Serialize)]
struct Level {
    column_family: String,
    level: i32,
    tables: u64,
    tables_with_units: u64,
    entries: u64,
    file_bytes: u64,
    index_bytes: u64,
    segments: u64,
    unit_bytes: u64,
    corrupt_units: u64,
}

/// One table file.
pub(crate) struct Table<'l> {
    listed: &'l ListedTable,
    report: TableReport,
    /// Absent for a table without units that can be used.
    units: Option<UnitsReport>,
    /// Why it, or its units, cannot be used, if so.
    error: Option<String>,
}

impl<'l> Table<'l> {
    /// From what the database says of a table and what its file says of itself.
    pub(crate) fn new(listed: &'l ListedTable, mut report: TableReport) -> Self {
        let (units, error) = match report.units.take().transpose() {
            Ok(units) => (units, None),
            Err(error) => (None, Some(error.to_string())),
        };
        Table { listed, report, units, error }
    }

    /// A table that cannot be read.
    pub(crate) fn unreadable(listed: &'l ListedTable, error: &Error) -> Self {
        Table { error: Some(error.to_string()), ..Table::new(listed, TableReport::default()) }
    }

    fn name(&self) -> String {
        self.listed.file_name().display().to_string()
    }

    fn segments(&self) -> &[SegmentReport] {
        self.units.as_ref().map_or(&[], |units| &units.segments)
    }

    fn unit_count(&self) -> u8 {
        self.units.as_ref().map_or(0, |units| units.unit_count)
    }

    /// Of all units of all segments, without checksums and directory.
    fn unit_bytes(&self) -> u64 {
        let each: usize = self.segments().iter().map(|segment| segment.unit_bytes).sum();
        each as u64 * u64::from(self.unit_count())
    }

    fn corrupt_units(&self) -> u64 {
        self.units.as_ref().map_or(0, |units| units.corrupt_unit_count() as u64)
    }

    fn keys_per_segment(&self) -> u64 {
        let keys: u64 = self.segments().iter().map(|segment| u64::from(segment.key_count)).sum();
        keys.checked_div(self.segments().len() as u64).unwrap_or(0)
    }

    fn state(&self) -> String {
        match (&self.error, self.corrupt_units(), &self.units) {
            (Some(error), _, _) => error.clone(),
            (None, 0, Some(_)) => "sound".to_owned(),
            (None, 0, None) => "no units".to_owned(),
            (None, corrupt, _) => format!("{corrupt} units corrupt"),
        }
    }

    fn json(&self) -> Value {
        let segment = |segment: &SegmentReport| {
            json!({
                "first_key": segment.first_key.escape_ascii().to_string(),
                "key_count": segment.key_count,
                "data_bytes": segment.data_bytes,
                "unit_bytes": segment.unit_bytes,
                "corrupt_units": segment.corrupt_units,
            })
        };
        let units = self.units.as_ref().map(|units| {
            json!({
                "unit_count": units.unit_count,
                "unit_bytes": self.unit_bytes(),
                "corrupt_units": self.corrupt_units(),
                "segments": units.segments.iter().map(segment).collect::<Vec<_>>(),
            })
        });
        json!({
            "name": self.name(),
            "level": self.listed.level,
            "column_family": *self.listed.column_family,
            "entries": self.report.entries,
            "file_bytes": self.report.file_bytes,
            "filter_bytes": self.report.filter_bytes,
            "index_bytes": self.report.index_bytes,
            "filter_policy": self.report.filter_policy,
            "units": units,
            "error": self.error,
        })
    }
}

/// A JSON array of what comes one after the other, and is not kept.
struct Streamed<I>(RefCell<Option<I>>);

impl<I: Iterator<Item: Serialize>> Serialize for Streamed<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.take().into_iter().flatten())
    }
}

impl Levels {
    fn add(&mut self, table: &Table<'_>) {
        let Table { listed, report, .. } = table;
        let family = listed.column_family.to_string();
        let level = self.levels.entry((family.clone(), listed.level)).or_default();
        (level.column_family, level.level) = (family, listed.level);
        level.tables += 1;
        level.tables_with_units += u64::from(table.units.is_some());
        level.entries += report.entries;
        level.file_bytes += report.file_bytes;
        level.index_bytes += report.index_bytes;
        level.segments += table.segments().len() as u64;
        level.unit_bytes += table.unit_bytes();
        level.corrupt_units += table.corrupt_units();
        if table.error.is_some() || table.corrupt_units() > 0 {
            self.first_damaged.get_or_insert_with(|| table.name());
        }
    }

    /// The first table that cannot be used, or not with all of its units.
    pub(crate) fn first_damaged(&self) -> Option<&str> {
        self.first_damaged.as_deref()
    }

    /// Adds the tables up, and writes each as it comes.
    pub(crate) fn write_json<'l>(
        &mut self,
        tables: impl Iterator<Item = Table<'l>>,
        out: &mut impl Write,
    ) -> Result<()> {
        let tables = tables.inspect(|table| self.add(table)).map(|table| table.json());
        let mut json = serde_json::Serializer::pretty(&mut *out);
        let mut document = json.serialize_map(Some(2))?;
        document.serialize_entry("tables", &Streamed(RefCell::new(Some(tables))))?;
        document.serialize_entry("levels", &self.levels.values().collect::<Vec<_>>())?;
        document.end()?;
        Ok(writeln!(out)?)
    }

    /// Adds the tables up, and writes one text table by level, one by file.
    pub(crate) fn write_text<'l>(
        &mut self,
        tables: impl Iterator<Item = Table<'l>>,
        out: &mut impl Write,
    ) -> Result<()> {
        let of_tables: [Column<Table<'_>>; _] = [
            ("table", Table::name),
            ("level", |table| table.listed.level.to_string()),
            ("entries", |table| table.report.entries.to_string()),
            ("file", |table| size(table.report.file_bytes)),
            ("filter block", |table| size(table.report.filter_bytes)),
            ("index", |table| size(table.report.index_bytes)),
            ("segments", |table| table.segments().len().to_string()),
            ("units", |table| table.unit_count().to_string()),
            ("keys/segment", |table| table.keys_per_segment().to_string()),
            ("unit bytes", |table| size(table.unit_bytes())),
            ("state", Table::state),
        ];
        let of_levels: [Column<&Level>; _] = [
            ("column family", |level| level.column_family.clone()),
            ("level", |level| level.level.to_string()),
            ("tables", |level| level.tables.to_string()),
            ("with units", |level| level.tables_with_units.to_string()),
            ("entries", |level| level.entries.to_string()),
            ("file bytes", |level| size(level.file_bytes)),
            ("indexes", |level| size(level.index_bytes)),
            ("segments", |level| level.segments.to_string()),
            ("unit bytes", |level| size(level.unit_bytes)),
            ("corrupt", |level| level.corrupt_units.to_string()),
        ];
        let tables = TextTable::of(&of_tables, tables.inspect(|table| self.add(table)));
        let levels = TextTable::of(&of_levels, self.levels.values());
        Ok(writeln!(out, "{levels}\n\n{tables}")?)
    }
}

fn size(bytes: u64) -> String {
    Size { bytes }.to_string()
}
